#include "data/reader.h"

#include "base/mem.h"
#include "base/rng.h"
#include "data/cache.h"
#include "data/feature_set.h"
#include "data/format.h"
#include "data/order.h"
#include "data/skip_records.h"

#include <stdlib.h>
#include <string.h>

#define MANY	1024		/* examples of a batch for which room is made
				   in advance */
#define AT_ONCE	(1 << 20)	/* records between two looks at stop; so a
				   cache gives gathered ids only to batches of
				   at most so many */

struct reader {
	struct reader_options options;
	const struct format *format;	/* NULL: by the files' names */
	struct read_spec want;
	char **file;
	size_t files, next;	/* next: number of the file to be opened next */
	const struct format *now;	/* of the open file */
	struct cache cache;	/* if the options want caches */
	void *state;		/* of the format; NULL: no file is open */
	size_t opened;		/* number of the open file */
	uint64_t in_file;	/* records so far in the file, bad ones too */
	uint64_t in_pass;	/* records so far in the pass, bad ones too */
	uint64_t kept;		/* good ones of the pass in our shard */
	uint64_t records;	/* for reader_records() */
	struct skip_records bad;
	struct negative_labels negatives;
	struct order order;
	/* For shuffling: */
	struct rng rng;
	struct batch *held;	/* the buffer: batches of one example each */
	size_t holds, begun, room;	/* batches with an example, batches
					   that exist, and room */
	bool over;		/* the pass is over, but for those held */
};

bool
reader_format(const char *name)
{
	return format_find(name) != NULL;
}

static void
close_file(struct reader *r)
{
	if (r->state)
		r->now->close(r->state);
	r->state = NULL;
}

/* Open the next file; for a format of pairs, the next two. */
static int
open_file(struct reader *r, struct fail *f)
{
	char *const *file = &r->file[r->next];

	r->now = r->format ? r->format : format_of(file[0]);

	const bool two = r->now->pairs && r->want.label;

	if (two && r->next + 1 == r->files)
		return fail(f, FAIL_NOINPUT, "%s: no file of labels follows "
			    "it, which %s needs", file[0], r->now->name);
	if (r->options.cache)
		r->state = cache_open(&r->cache, &r->now, &r->want, file, f);
	else
		r->state = r->now->open(&r->want, file, f);
	if (!r->state)
		return -1;
	r->opened = r->next;
	r->next += two ? 2 : 1;
	r->in_file = 0;
	return 0;
}

static int
check_options(const struct reader *r, struct fail *f)
{
	const struct reader_options *o = &r->options;

	if (o->format && !r->format)
		return format_unknown(o->format, f);
	if (r->files == 0)
		return fail(f, FAIL_USAGE, "no input is given");
	if (o->shards > 0 && o->shard >= o->shards)
		return fail(f, FAIL_USAGE, "shard %llu of %llu: they are "
			    "counted from 0", (unsigned long long)o->shard,
			    (unsigned long long)o->shards);
	for (size_t i = 0; o->repeat && i < r->files; i++)
		if (strcmp(r->file[i], "-") == 0)
			return fail(f, FAIL_USAGE, "standard input cannot be "
				    "repeated");
	return 0;
}

struct reader *
reader_open(char *const *files, size_t count,
	    const struct reader_options *options, const struct input *inputs,
	    size_t input_count, const struct input *label, struct fail *f)
{
	struct reader *r = mem_alloc(1, sizeof(*r));

	r->options = *options;
	r->want = (struct read_spec){
		.inputs = inputs, .count = input_count,
		.label = options->unlabelled ? NULL : label,
		.apart = options->unlabelled ? label : NULL,
		.no_header = options->no_header,
		.batches = options->shuffle == 0 && options->shards == 0,
		.commands = options->commands,
		.bad = &r->bad, .negatives = &r->negatives, .order = &r->order
	};
	r->rng.seed = options->seed;
	r->bad.most = options->max_bad;
	r->cache.folder = options->cache;
	if (options->format)
		r->format = format_find(options->format);
	r->file = mem_alloc(count, sizeof(*r->file));
	for (; r->files < count; r->files++)
		r->file[r->files] = mem_text(files[r->files]);
	if (check_options(r, f) == 0 && open_file(r, f) == 0)
		return r;
	reader_close(r);
	return NULL;
}

void
reader_close(struct reader *r)
{
	if (!r)
		return;
	skip_records_end(&r->bad);
	close_file(r);
	order_release(&r->order);
	for (size_t i = 0; i < r->files; i++)
		free(r->file[i]);
	free(r->file);
	for (size_t i = 0; i < r->begun; i++)
		batch_release(&r->held[i]);
	free(r->held);
	free(r);
}

/* Close the file at its end; one without records is an error. */
static int
end_file(struct reader *r, struct fail *f)
{
	close_file(r);
	if (r->in_file == 0)
		return fail(f, FAIL_NOINPUT, "%s: it has no records",
			    r->file[r->opened]);
	return 0;
}

static bool
is_stopped(const struct reader *r)
{
	const atomic_bool *stop = r->options.stop;

	return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

/*
 * Append the next record of our shard to the batch, or up to most records, if
 * the format reads several at once.  Return 1, 0 at the end of the pass, or
 * -1; after a bad record the next call resumes after it.
 */
static int
read_records(struct reader *r, struct batch *b, size_t most, struct fail *f)
{
	const struct reader_options *o = &r->options;

	if (most > AT_ONCE)
		most = AT_ONCE;
	for (;;) {
		if (is_stopped(r))
			return fail(f, FAIL_PEER, "reading was interrupted");
		if (!r->state && r->next == r->files)
			return 0;
		if (!r->state && open_file(r, f) != 0)
			return -1;

		const bool ours = o->shards == 0 ||
				  r->in_pass % o->shards == o->shard;

		b->label.negatives = &r->negatives;

		const int got = r->now->read_some && o->shards == 0 ?
			r->now->read_some(r->state, b, most, f) :
			r->now->read(r->state, ours ? b : NULL, f);
		const uint64_t passed = got < 0 ? 1 : (uint64_t)got;

		if (got == 0) {
			if (end_file(r, f) != 0)
				return -1;
			continue;
		}
		r->in_file += passed;
		r->in_pass += passed;
		r->records += passed;
		if (got < 0 && skip_records_pass(&r->bad, f))
			continue;
		if (got < 0)
			return -1;
		if (ours &&
		    feature_set_add_negatives(&r->negatives, b, b->examples,
						      (size_t)passed, f) != 0)
			return fail_at(f, "%s", r->file[r->opened]);
		if (ours) {
			b->examples += passed;
			r->kept += passed;
			return 1;
		}
	}
}

/* Fill the buffer. */
static int
fill_buffer(struct reader *r, struct fail *f)
{
	while (!r->over && r->holds < r->options.shuffle) {
		if (r->holds == r->begun) {
			r->held = mem_grow(r->held, r->begun, &r->room,
					   sizeof(*r->held));
			batch_begin(&r->held[r->begun++], r->want.inputs,
				    r->want.count, r->want.label);
		}
		batch_reset(&r->held[r->holds]);

		const int got = read_records(r, &r->held[r->holds], 1, f);

		if (got < 0)
			return -1;
		r->over = got == 0;
		r->holds += got > 0;
	}
	return 0;
}

/* Append a random example of the buffer; the last one takes its place there. */
static int
draw_example(struct reader *r, struct batch *b, struct fail *f)
{
	if (fill_buffer(r, f) != 0)
		return -1;
	if (r->holds == 0)
		return 0;

	struct batch *drawn = &r->held[rng_below(&r->rng, r->holds)];
	struct batch *last = &r->held[--r->holds];
	const struct batch swapped = *last;

	batch_append(b, drawn, 0);
	*last = *drawn;
	*drawn = swapped;
	return 1;
}

static int
begin_pass(struct reader *r, struct fail *f)
{
	if (r->kept == 0 && r->bad.count > 0)
		return fail(f, FAIL_DATA, "no record is good: %llu are "
			    "malformed", (unsigned long long)r->bad.count);
	if (r->kept == 0)
		return fail(f, FAIL_NOINPUT, "shard %llu of %llu is empty: "
			    "there are %llu records",
			    (unsigned long long)r->options.shard,
			    (unsigned long long)r->options.shards,
			    (unsigned long long)r->in_pass);
	r->next = 0;
	r->in_pass = r->kept = r->bad.count = 0;
	r->over = false;
	return 0;
}

int
reader_next(struct reader *r, size_t n, struct batch *b, struct fail *f)
{
	bool few = n >= MANY;

	batch_reset(b);
	b->label.input = r->want.label;
	while (b->examples < n) {
		const int got = r->options.shuffle > 0 ? draw_example(r, b, f) :
				read_records(r, b, n - b->examples, f);

		if (got < 0)
			return -1;
		if (got > 0 && few && b->examples < n) {
			batch_expect(b, n);
			few = false;
		}
		if (got > 0)
			continue;
		if (!r->options.repeat)
			break;
		if (begin_pass(r, f) != 0)
			return -1;
	}
	if (r->want.batches && r->state && r->now->end_batch)
		r->now->end_batch(r->state, b);
	return b->examples > 0;
}

uint64_t
reader_records(const struct reader *r)
{
	return r->records;
}
