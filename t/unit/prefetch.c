/*
 * Batches have the requested size, even if other sizes were read ahead, and
 * their examples come in order, each once.
 */
#include "prog/prefetch.h"

#include "files.h"
#include "tap.h"
#include "threads.h"

#include <poll.h>
#include <unistd.h>

#define EXAMPLES	100

static struct prefetch *
begin(const struct model *model)
{
	static char name[] = "x.svm";
	static char *files[] = { name };
	const struct reader_options o = { .format = "svmlight" };
	struct fail f;
	FILE *file = fopen(name, "w");

	for (int i = 1; file && i <= EXAMPLES; i++)
		fprintf(file, "1 %d:1\n", i);
	if (!file || fclose(file) != 0)
		return NULL;
	return prefetch_open(model, 0, files, 1, &o, &f);
}

/* A request for more than can be read in minutes need not end before a
   close. */
static void
test_close(const struct model *model)
{
	static char name[] = "one.svm";
	static char *files[] = { name };
	const struct reader_options o = { .repeat = true };
	struct batch batch = { 0 };
	struct fail f;
	struct prefetch *p;

	files_text(name, "1 1:1\n");
	p = prefetch_open(model, 0, files, 1, &o, &f);
	ok(p && prefetch_take(p, (size_t)1 << 24, &batch) == 0);
	alarm(60);	/* the end, without a result */
	prefetch_close(p);
	alarm(0);
	named(true, "the end does not wait for a batch that takes long");
}

static void
test_threads(const struct model *model)
{
	static char name[] = "one.svm", pipe[] = "pipe:true";
	static char *files[] = { name, pipe };
	const struct reader_options o = { .allow_pipe = true };
	struct fail f;

	threads_end();
	named(!prefetch_open(model, 0, files, 1, &o, &f) && threads_ended(&f),
	      "a file that no thread can read is an error, and no abort");
	named(!prefetch_open(model, 0, files, 2, &o, &f) && threads_ended(&f),
	      "a command that no thread can read is an error, and no abort");
}

/* Takes a batch; returns its examples, or -1 for the end. */
static int
take(struct prefetch *p, size_t n, struct batch *batch)
{
	struct pollfd fds = { .fd = prefetch_fd(p), .events = POLLIN };
	int got;

	while ((got = prefetch_take(p, n, batch)) == 0)
		poll(&fds, 1, -1);
	return got;
}

/* Does the batch have the examples from first on, and their rows if it is
   prepared? */
static bool
follow(const struct batch *b, size_t first)
{
	const struct feature *x = &b->feature[0];
	const struct unique_ids *rows = b->gather;

	for (size_t i = 0; i < b->examples; i++) {
		const size_t at = x->offset[i];

		if (x->id[at] != first + i ||
		    (b->prepared && rows->id[rows->row[at]] != x->id[at]))
			return false;
	}
	return true;
}

int
main(void)
{
	static const size_t sizes[] = { 2, 2, 3, 3, 7, 1, 1, 30, 2, 2, 2 };
	static char name[] = "m.ps";
	static char text[] = "input x sparse[100]\nlabel y binary\n"
		"z = linear x\n"
		"loss binary_crossentropy z from_logits=true\n"
		"optimizer sgd\n";
	struct model_file file = { name, text, sizeof(text) - 1 };
	const struct model_source source = { .file = &file, .count = 1 };
	struct batch batch;
	struct model *model;
	struct prefetch *p;
	struct fail f;
	size_t seen = 0, inputs, prepared = 0;

	files_begin();
	model = model_parse(&source, &f);
	ok(model != NULL);
	p = model ? begin(model) : NULL;
	ok(p != NULL);
	if (!p)
		return tap_done();

	const struct input *input = model_inputs(model, &inputs);

	batch_begin(&batch, input, inputs, model_label(model));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		named(take(p, sizes[i], &batch) == 1 &&
		      batch.examples == sizes[i] && follow(&batch, seen),
		      "a batch has the size that was asked for");
		seen += batch.examples;
		prepared += batch.prepared;
	}
	named(prepared > 0,
	      "a batch that was read in the size asked for is prepared");
	named(take(p, 40, &batch) == 1 && batch.examples == 40 &&
	      follow(&batch, seen),
	      "a batch can be larger than all that was read ahead");
	seen += batch.examples;
	named(take(p, 40, &batch) == 1 && seen + batch.examples == EXAMPLES &&
	      follow(&batch, seen),
	      "the last batch has the examples that are left");
	equals(take(p, 40, &batch), -1);
	ok(prefetch_end(p, &seen, &f) == 0 && seen == EXAMPLES);
	batch_release(&batch);
	prefetch_close(p);
	test_close(model);
	test_threads(model);
	model_free(model);
	files_end();
	return tap_done();
}
