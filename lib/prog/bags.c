#include "prog/bags.h"

#include "base/mem.h"
#include "data/reader.h"

#include <stdlib.h>

#define BATCH	1000

static size_t
most_ids(const struct feature *x, size_t examples, size_t most)
{
	for (size_t i = 0; x->offset && i < examples; i++) {
		const size_t n = x->offset[i + 1] - x->offset[i];

		most = n > most ? n : most;
	}
	return most;
}

static int
read_some(struct plan_bags *b, struct reader *r, struct batch *batch,
	  size_t *most, struct fail *f)
{
	uint64_t records = 0;
	int got = 1;

	while (records < BAGS_RECORDS &&
	       (got = reader_next(r, BATCH, batch, f)) > 0) {
		records += batch->examples;
		for (size_t i = 0; i < batch->features; i++)
			most[i] = most_ids(&batch->feature[i],
					   batch->examples, most[i]);
	}
	b->all = got == 0 && (b->all || b->records == 0);
	b->records += records;
	return got < 0 ? -1 : 0;
}

/*
 * List the files as a reader takes them: each file of labels follows its file
 * of values.  The caller frees the list.
 */
static char **
list_files(const struct splits *s, size_t *count)
{
	char **file = mem_alloc(2 * s->files, sizeof(*file));

	*count = 0;
	for (size_t i = 0; i < s->files; i++) {
		file[(*count)++] = s->file[i].name;
		if (s->file[i].label)
			file[(*count)++] = s->file[i].label;
	}
	return file;
}

int
bags_read(struct plan_bags *b, size_t *most, const struct model *m,
	  size_t dataset, const struct splits *s,
	  const struct record_range_format *how, struct fail *f)
{
	const struct reader_options o = { .format = how->name,
					  .no_header = how->no_header };
	const struct model_dataset d = model_dataset(m, dataset);
	struct batch batch = { 0 };
	struct reader *r;
	int status = -1;
	size_t count;
	char **file = list_files(s, &count);

	batch_begin(&batch, d.input, d.inputs, d.label);
	r = reader_open(file, count, &o, d.input, d.inputs, d.label, f);
	if (r)
		status = read_some(b, r, &batch, most + d.first, f);
	reader_close(r);
	batch_release(&batch);
	free(file);
	return status;
}
