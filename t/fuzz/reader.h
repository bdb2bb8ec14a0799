/* reader - a fuzz target for a data format: its records feed each kind of
   input, in batches, until the data end or are refused. */
#ifndef PS_FUZZ_READER_H
#define PS_FUZZ_READER_H

#include "data/reader.h"

#include "fuzz.h"

#define MAX_BATCHES	1000

static const struct input fuzz_label = {
	.name = (char[]){ "y" }, .kind = INPUT_FLOAT, .binary = true,
	.where = "model.ps:9",
};

static const struct input fuzz_sparse = {
	.name = (char[]){ "x" }, .kind = INPUT_SPARSE, .rows = 100,
	.where = "model.ps:1",
};

static const struct input fuzz_dense = {
	.name = (char[]){ "x" }, .kind = INPUT_FLOAT,
	.shape = { 1, { 4 } }, .where = "model.ps:1",
};

static const struct input fuzz_ids = {
	.name = (char[]){ "x" }, .kind = INPUT_ID, .rows = 50, .ragged = true,
	.separator = '|', .where = "model.ps:1",
};

static inline void
fuzz_read(const char *path, const char *other, const char *format,
	  const struct input *input, bool labelled)
{
	const struct reader_options o = {
		.format = format, .unlabelled = !labelled,
	};
	char *files[] = { (char *)(uintptr_t)path, (char *)(uintptr_t)other };
	const struct input *label = labelled ? &fuzz_label : NULL;
	struct batch batch;
	struct reader *r;
	struct fail f;

	r = reader_open(files, other ? 2 : 1, &o, input, 1, label, &f);
	if (!r)
		return;
	batch_begin(&batch, input, 1, label);
	for (int i = 0; i < MAX_BATCHES; i++)
		if (reader_next(r, 3, &batch, &f) <= 0)
			break;
	batch_release(&batch);
	reader_close(r);
}

static inline void
fuzz_reader(const char *format, const uint8_t *data, size_t size)
{
	char path[32];
	const int fd = fuzz_file(data, size, path);

	fuzz_read(path, NULL, format, &fuzz_sparse, true);
	fuzz_read(path, NULL, format, &fuzz_dense, true);
	fuzz_read(path, NULL, format, &fuzz_ids, false);
	close(fd);
}

#endif
