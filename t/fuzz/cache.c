/*
 * Blocks of a batch cache, after a valid header.
 *
 * In every second run the checksums of complete blocks are corrected first.
 * Ids that were read lie in their tables, offsets among the ids; the ids that a
 * batch keeps for the gather are sorted.
 */
#include "base/hash.h"
#include "data/cache_file.h"

#include "fuzz.h"

#include <string.h>

#define HEAD	128
#define BATCH	7	/* a batch takes records while it has fewer than this */

static const struct input inputs[] = {
	{ .name = (char[]){ "x" }, .kind = INPUT_SPARSE, .rows = 100 },
	{ .name = (char[]){ "v" }, .kind = INPUT_FLOAT, .shape = { 1, { 2 } } },
	{ .name = (char[]){ "u" }, .kind = INPUT_ID, .ragged = true,
	  .rows = (uint64_t)1 << 40 },
	{ .name = (char[]){ "h" }, .kind = INPUT_ID, .hashed = true },
};

static const struct input label = {
	.name = (char[]){ "y" }, .kind = INPUT_FLOAT, .binary = true,
};

#define INPUTS	(sizeof(inputs) / sizeof(*inputs))

/* Writes the header of an empty cache, as cache_file_create() does. */
static void
write_head(uint8_t *file)
{
	uint64_t sum;

	memset(file, 0, HEAD);
	memcpy(file, "pscache5", 8);
	sum = hash64(file, HEAD - sizeof(sum));
	memcpy(file + HEAD - sizeof(sum), &sum, sizeof(sum));
}

static void
seal(uint8_t *file, size_t size)
{
	struct cache_block b;
	uint64_t first = 0;

	for (size_t at = HEAD; size - at >= sizeof(b);
	     at += sizeof(b) + b.size) {
		const size_t left = size - at - sizeof(b);

		memcpy(&b, file + at, sizeof(b));
		b.size = b.size < left ? b.size : (uint32_t)left;
		b.first = first;
		b.data_sum = hash64(file + at + sizeof(b), b.size);
		b.sum = hash64(&b, offsetof(struct cache_block, sum));
		memcpy(file + at, &b, sizeof(b));
		first += b.records;
	}
}

static void
check(const struct batch *b)
{
	for (size_t i = 0; i < b->features; i++) {
		const struct feature *x = &b->feature[i];

		for (size_t k = 1; x->is_gathered && k < x->gathered.count;
		     k++)
			FUZZ_CHECK(x->gathered.id[k] > x->gathered.id[k - 1]);
		if (x->input->kind == INPUT_FLOAT || x->input->hashed)
			continue;
		FUZZ_CHECK(x->offset[0] == 0);
		for (size_t e = 0; e < b->examples; e++)
			FUZZ_CHECK(x->offset[e] <= x->offset[e + 1]);
		for (size_t k = 0; k < x->offset[b->examples]; k++)
			FUZZ_CHECK(feature_id(x, k) < x->input->rows);
	}
}

static void
read_all(const char *path)
{
	const struct cache_key key = { 0 };
	struct cache_file c;
	struct batch batch;
	struct fail f;
	bool keep = false;	/* batches of a block, now and then */

	FUZZ_CHECK(cache_file_open(&c, path, &key, 0, &f) == 1);
	batch_begin(&batch, inputs, INPUTS, &label);
	while (cache_file_peek(&c, &f) > 0) {
		if (keep || batch.examples >= BATCH)
			batch_reset(&batch);
		keep = batch.examples == 0 && c.block.first % 2 == 0;
		if (cache_file_next(&c, &batch, keep, &f) != 0)
			break;
		check(&batch);
	}
	batch_release(&batch);
	cache_file_close(&c);
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	uint8_t *file = malloc(HEAD + size);
	char path[32];
	int fd;

	write_head(file);
	if (size > 0)
		memcpy(file + HEAD, data, size);
	if (size % 2 == 0)
		seal(file, HEAD + size);
	fd = fuzz_file(file, HEAD + size, path);
	read_all(path);
	close(fd);
	free(file);
	return 0;
}
