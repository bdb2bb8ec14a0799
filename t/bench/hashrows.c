/*
 * hashrows - rows of a hash table found by their 64-bit ids and updated,
 * compared with a gather and scatter of an array of as many bytes.
 *
 * A row is a weight and an accumulator.  Ids are drawn from those in the table,
 * in sorted batches of 10,000, as a message has them.  The array has elements
 * of 16 bytes, as a key and a row take together; both programs add 1 to a float
 * of each.  "pull" only copies values.
 */
#include "tensor/table.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include "bench.h"

#define BATCH	10000

struct element {
	uint64_t unused;
	float value[2];
};

static void
start(const void *data, uint64_t id, float *row)
{
	(void)data;
	row[0] = (float)(id % 7);
	row[1] = .1f;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Draws ids that are sorted; few are equal. */
static void
draw(struct rng *rng, uint64_t *at, uint64_t below)
{
	for (size_t k = 0; k < BATCH; k++)
		at[k] = rng_below(rng, below);
	qsort(at, BATCH, sizeof(*at), compare);
}

static void
update(struct table *t, const uint64_t *key)
{
	float *row[TABLE_BATCH];

	for (size_t done = 0; done < BATCH; done += TABLE_BATCH) {
		const size_t some = BATCH - done < TABLE_BATCH ?
			BATCH - done : TABLE_BATCH;

		table_touch(t, key + done, some, row);
		for (size_t k = 0; k < some; k++)
			row[k][0] += 1;
	}
}

static void
one(size_t rows, size_t batches)
{
	const struct table_kind kind = { .width = 1, .slots = 1,
					 .start = start };
	struct table *t = table_new(&kind);
	struct rng rng = { .seed = rows };
	uint64_t *key = mem_alloc(batches * BATCH, sizeof(*key));
	uint64_t *at = mem_alloc(batches * BATCH, sizeof(*at));
	float *values = mem_alloc(BATCH, sizeof(*values));
	struct series ours = { 0 }, pulls = { 0 }, array = { 0 }, gets = { 0 };
	double slowest = 0;
	char label[64];

	for (uint64_t id = 0; id < rows; id += TABLE_BATCH) {
		uint64_t new_key[TABLE_BATCH];
		float *row[TABLE_BATCH];
		size_t n = 0;

		for (; n < TABLE_BATCH && id + n < rows; n++)
			new_key[n] = hash_mix(id + n);

		const struct watch begin = watch_read(0);

		table_touch(t, new_key, n, row);

		const double took = watch_read(0).cpu - begin.cpu;

		if (took > slowest)
			slowest = took;
	}

	const size_t elements = table_bytes(t) / sizeof(struct element);
	struct element *e = mem_alloc(elements, sizeof(*e));

	memset(e, 1, elements * sizeof(*e));
	for (size_t b = 0; b < batches; b++) {
		draw(&rng, key + b * BATCH, rows);
		for (size_t k = 0; k < BATCH; k++)
			key[b * BATCH + k] = hash_mix(key[b * BATCH + k]);
		qsort(key + b * BATCH, BATCH, sizeof(*key), compare);
		draw(&rng, at + b * BATCH, elements);
	}
	for (size_t run = 0; run < bench_runs(); run++) {
		const double work = (double)(batches * BATCH) / 1e6;
		struct watch begin = watch_read(0);

		for (size_t b = 0; b < batches; b++)
			for (size_t k = 0; k < BATCH; k++)
				e[at[b * BATCH + k]].value[0] += 1;
		series_add(&array, work, begin, 0);
		begin = watch_read(0);
		for (size_t b = 0; b < batches; b++)
			update(t, key + b * BATCH);
		series_add(&ours, work, begin, 0);
		begin = watch_read(0);
		for (size_t b = 0; b < batches; b++)
			for (size_t k = 0; k < BATCH; k++)
				values[k] = e[at[b * BATCH + k]].value[0];
		series_add(&gets, work, begin, 0);
		begin = watch_read(0);
		for (size_t b = 0; b < batches; b++)
			table_pull(t, key + b * BATCH, BATCH, values);
		series_add(&pulls, work, begin, 0);
	}
	fprintf(stderr, "hashrows: %zu rows: %.1f bytes a row, slowest batch "
		"of %d new ones %.3f ms\n", rows,
		(double)table_bytes(t) / (double)rows, TABLE_BATCH,
		slowest * 1e3);
	snprintf(label, sizeof(label), "update, %g M rows",
		 (double)rows / 1e6);
	bench_print(&(struct claim){ "hashrows", label, "Mrows/s",
				     "array of as many bytes", .5 },
		    &ours, &array);
	snprintf(label, sizeof(label), "pull, %g M rows", (double)rows / 1e6);
	bench_print(&(struct claim){ "hashrows", label, "Mrows/s",
				     "array of as many bytes", .5 },
		    &pulls, &gets);
	free(e);
	free(values);
	free(at);
	free(key);
	table_free(t);
}

int
main(void)
{
	static const size_t rows[] = { 1000000, 10000000, 100000000 };

	if (bench_size() == BENCH_TINY)
		one(10000, 1);
	for (size_t i = 0; i < bench_scale(0, 2, 3); i++)
		one(rows[i], 200);
	return 0;
}
