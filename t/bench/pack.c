/*
 * pack - the cost of a batch's ids for a worker and a server: to sort them and
 * drop repeated ones, to pack and to unpack them.
 *
 * Each is compared with copying as many 64-bit keys, and sorting with qsort().
 * The bytes of a key on the wire have a line of their own, compared with 8.
 */
#include "model/unique_ids.h"
#include "wire/keys.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include "bench.h"

#define IDS	((size_t)15000)		/* 512 examples of some 30 ids */

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Draws ids below this number, or, if it is 0, ids of any 64 bits. */
static void
one(const char *what, uint64_t below, size_t batches)
{
	const double work = (double)(IDS * batches) / 1e6;
	uint64_t *id = mem_alloc(IDS, sizeof(*id));
	uint32_t *half = mem_alloc(2 * IDS, sizeof(*half));
	const struct ids ids = { half, below ? NULL : half + IDS };
	uint64_t *copy = mem_alloc(IDS, sizeof(*copy)), *rows = NULL;
	struct series sorts = { 0 }, packs = { 0 }, unpacks = { 0 };
	struct series sorted = { 0 }, copies = { 0 }, bytes = { 0 };
	struct series raw = { 0 };
	struct rng rng = { .seed = 1 };
	struct unique_ids g = { 0 };
	struct sorter sorter = { 0 };
	struct pack p = { 0 };
	size_t room = 0;
	char label[80];

	for (size_t i = 0; i < IDS; i++) {
		id[i] = below ? rng_below(&rng, below) : rng_next(&rng);
		half[i] = (uint32_t)id[i];
		half[IDS + i] = (uint32_t)(id[i] >> 32);
	}
	for (size_t run = 0; run < bench_runs(); run++) {
		struct watch begin = watch_read(0);

		for (size_t b = 0; b < batches; b++)
			if (below)
				unique_ids_find(&g, &sorter, ids, IDS, below);
			else
				unique_ids_keys(&g, &sorter, ids, IDS);
		series_add(&sorts, work, begin, 0);
		begin = watch_read(0);
		for (size_t b = 0; b < batches; b++) {
			memcpy(copy, id, IDS * sizeof(*id));
			qsort(copy, IDS, sizeof(*copy), compare);
		}
		series_add(&sorted, work, begin, 0);

		const double keys = (double)(g.count * batches) / 1e6;

		begin = watch_read(0);
		for (size_t b = 0; b < batches; b++) {
			memcpy(copy, g.id, g.count * sizeof(*copy));
			/* The compiler must not leave the copy out. */
			__asm__ volatile("" : : "r"(copy) : "memory");
		}
		series_add(&copies, keys, begin, 0);
		begin = watch_read(0);
		for (size_t b = 0; b < batches; b++) {
			pack_reset(&p);
			keys_write(&p, g.id, g.count, 0);
		}
		series_add(&packs, keys, begin, 0);
		begin = watch_read(0);
		for (size_t b = 0; b < batches; b++) {
			struct unpack u = unpack_from(p.data, p.size);

			keys_read(&u, 0, UINT64_MAX, &rows, &room);
		}
		series_add(&unpacks, keys, begin, 0);
	}
	snprintf(label, sizeof(label), "sort, %s", what);
	bench_print(&(struct claim){ "pack", label, "Mids/s", "qsort", 5 },
		    &sorts, &sorted);
	snprintf(label, sizeof(label), "pack, %s", what);
	bench_print(&(struct claim){ "pack", label, "Mkeys/s", "memcpy", 0 },
		    &packs, &copies);
	snprintf(label, sizeof(label), "unpack, %s", what);
	bench_print(&(struct claim){ "pack", label, "Mkeys/s", "memcpy", 0 },
		    &unpacks, &copies);
	bytes.runs = raw.runs = 1;
	bytes.figure[0] = (double)p.size / (double)g.count;
	raw.figure[0] = sizeof(*id);
	snprintf(label, sizeof(label), "size, %s", what);
	bench_print(&(struct claim){ "pack", label, "bytes/key",
				     "raw 64-bit keys", 0 }, &bytes, &raw);
	unique_ids_release(&g);
	sorter_release(&sorter);
	pack_release(&p);
	free(rows);
	free(copy);
	free(half);
	free(id);
}

int
main(void)
{
	const size_t batches = bench_scale(2, 200, 200);

	one("15,000 of 1 M", 1000000, batches);
	one("15,000 of 15,000", IDS, batches);
	one("15,000 hashed", 0, batches);
	return 0;
}
