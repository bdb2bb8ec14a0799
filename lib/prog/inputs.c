#include "prog/inputs.h"

#include "base/mem.h"
#include "model/dataset.h"
#include "prog/prefetch.h"

#include <stdlib.h>
#include <string.h>

/* A data set, and how far it has been read. */
struct source {
	const struct input_files *from;	/* NULL: no files */
	struct prefetch *data;		/* NULL: not opened yet */
	bool over;
	struct batch part;
	size_t asked;			/* examples that the part was taken for;
					   0: the part is empty */
};

struct inputs {
	const struct model *model;
	struct source *source;		/* one for each data set */
	size_t count;
	int status;			/* of the data set that has ended */
	uint64_t records;
	struct fail why;
};

static int
find_source(struct inputs *in, const struct input_files *from, struct fail *f)
{
	for (size_t d = 0; d < in->count; d++) {
		if (strcmp(model_dataset(in->model, d).name, from->name) != 0)
			continue;
		in->source[d].from = from;
		return 0;
	}
	return fail(f, FAIL_USAGE, "--input=%s: no input of the model is read "
		    "from it (from=%s)", from->name, from->name);
}

struct inputs *
inputs_new(const struct model *model, const struct input_files *from,
	   size_t count, struct fail *f)
{
	struct inputs *in = mem_alloc(1, sizeof(*in));
	int status = 0;

	in->model = model;
	in->count = model_datasets(model);
	in->source = mem_alloc(in->count, sizeof(*in->source));
	for (size_t d = 0; d < in->count; d++) {
		const struct model_dataset set = model_dataset(model, d);

		batch_begin(&in->source[d].part, set.input, set.inputs,
			    set.label);
	}
	for (size_t i = 0; i < count && status == 0; i++)
		status = find_source(in, &from[i], f);
	if (status == 0)
		return in;
	inputs_free(in);
	return NULL;
}

void
inputs_free(struct inputs *in)
{
	if (!in)
		return;
	for (size_t d = 0; d < in->count; d++) {
		prefetch_close(in->source[d].data);
		batch_release(&in->source[d].part);
	}
	free(in->source);
	free(in);
}

/* ---- one data set ---- */

static int
no_files(const struct inputs *in, size_t d, struct fail *f)
{
	const char *name = model_dataset(in->model, d).name;

	return *name ? fail(f, FAIL_USAGE, "no input: say --input=%s:FILE",
			    name) :
		fail(f, FAIL_USAGE, "no input: name files, - or pipe:COMMAND "
		     "for ps-work, or data for all workers for ps-coord (-d)");
}

static int
open_source(struct inputs *in, size_t d, struct fail *f)
{
	struct source *s = &in->source[d];
	struct reader_options o;

	if (s->data)
		return 0;
	if (!s->from)
		return no_files(in, d, f);
	o = s->from->reader;
	o.trained_with = true;
	s->data = prefetch_open(in->model, d, s->from->file, s->from->count,
				&o, f);
	return s->data ? 0 : -1;
}

static int
take_one(struct inputs *in, size_t d, size_t examples, struct batch *b)
{
	struct source *s = &in->source[d];
	int got;

	if (open_source(in, d, &in->why) < 0) {
		in->status = -1;
		return -1;
	}
	if (s->from->batch > 0)
		examples = s->from->batch;
	got = prefetch_take(s->data, examples, b);
	if (got >= 0)
		return got;
	s->over = true;
	in->status = prefetch_end(s->data, &in->records, &in->why);
	return -1;
}

/* ---- several data sets ---- */

static void
put_back_part(struct source *s)
{
	if (s->asked == 0)
		return;
	prefetch_put_back(s->data, &s->part);
	s->asked = 0;
	s->over = false;
}

static int
take_part(struct inputs *in, size_t d, size_t examples)
{
	struct source *s = &in->source[d];
	int got;

	if (s->asked == examples)
		return 1;
	put_back_part(s);
	got = take_one(in, d, examples, &s->part);
	s->asked = got > 0 ? examples : 0;
	return got;
}

static bool
is_among(uint64_t datasets, size_t d)
{
	return datasets >> d & 1;
}

/*
 * Every data set is asked before any is taken, so that all are read at the same
 * time.
 */
int
inputs_take(struct inputs *in, uint64_t datasets, size_t examples,
	    struct batch *b)
{
	int got = 1, one;

	if (in->count == 1)
		return take_one(in, 0, examples, b);
	for (size_t d = 0; d < in->count; d++) {
		if (!is_among(datasets, d))
			continue;
		one = take_part(in, d, examples);
		got = one < got ? one : got;
	}
	if (got > 0)
		batch_reset(b);
	for (size_t d = 0; d < in->count && got > 0; d++)
		if (is_among(datasets, d)) {
			dataset_join(in->model, d, b, &in->source[d].part);
			in->source[d].asked = 0;
		}
	return got;
}

void
inputs_put_back(struct inputs *in, struct batch *b)
{
	if (in->count == 1) {
		prefetch_put_back(in->source->data, b);
		in->source->over = false;
	}
	for (size_t d = 0; d < in->count && b->each; d++) {
		struct source *s = &in->source[d];

		if (b->each[d] == 0 || !s->data)
			continue;
		put_back_part(s);
		dataset_part(in->model, d, b, &s->part);
		s->asked = s->part.examples;
		put_back_part(s);
	}
}

size_t
inputs_fds(const struct inputs *in, struct pollfd *fds)
{
	size_t count = 0;

	for (size_t d = 0; d < in->count; d++)
		if (in->source[d].data && !in->source[d].over)
			fds[count++] = (struct pollfd){
				prefetch_fd(in->source[d].data), POLLIN, 0 };
	return count;
}

int
inputs_end(const struct inputs *in, uint64_t *records, struct fail *f)
{
	*records = in->records;
	if (in->status < 0)
		*f = in->why;
	return in->status;
}
