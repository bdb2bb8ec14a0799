/* Ids come out sorted and once each, and every place of an id points to it. */
#include "model/unique_ids.h"

#include "base/hash.h"
#include "base/rng.h"

#include "tap.h"

#include <stdbool.h>

static struct sorter sorter;

static bool
holds(const struct unique_ids *g, const uint64_t *id, size_t n)
{
	for (size_t i = 1; i < g->count; i++)
		if (g->id[i] <= g->id[i - 1])
			return false;
	for (size_t i = 0; i < n; i++)
		if (g->row[i] >= g->count || g->id[g->row[i]] != id[i])
			return false;
	/* Each unique id occurs in the batch. */
	for (size_t k = 0; k < g->count; k++) {
		size_t i = 0;

		while (i < n && g->row[i] != k)
			i++;
		if (i == n)
			return false;
	}
	return true;
}

static bool
gathers(struct unique_ids *g, const uint64_t *id, size_t n, uint64_t limit)
{
	static uint64_t key[1000];
	static uint32_t low[1000], high[1000];
	struct ids ids = { low, NULL };
	bool good;

	for (size_t i = 0; i < n; i++) {
		key[i] = hash_mix(id[i]);
		low[i] = (uint32_t)id[i];
		high[i] = (uint32_t)(id[i] >> 32);
		if (high[i])
			ids.high = high;
	}
	unique_ids_keys(g, &sorter, ids, n);
	good = holds(g, key, n);
	unique_ids_find(g, &sorter, ids, n, 0);
	good = good && holds(g, id, n);
	unique_ids_find(g, &sorter, ids, n, limit);
	return good && holds(g, id, n);
}

/* Gathers the ids of several features, some of which exceed 32 bits. */
static void
joined(void)
{
	const uint32_t a[] = { 1, 2 }, b[] = { 3, 4, 5 }, c[] = { 6 };
	const uint32_t high[] = { 7, 8, 9 };
	struct ids all;

	ids_join(&sorter, 0, (struct ids){ a, NULL }, 2);
	ids_join(&sorter, 2, (struct ids){ b, high }, 3);
	ids_join(&sorter, 5, (struct ids){ NULL, NULL }, 0);
	ids_join(&sorter, 5, (struct ids){ c, NULL }, 1);
	all = ids_joined(&sorter);
	ok(ids_at(all, 0) == 1 && ids_at(all, 1) == 2 &&
	   ids_at(all, 2) == (7ull << 32 | 3) &&
	   ids_at(all, 4) == (9ull << 32 | 5) && ids_at(all, 5) == 6);
	ids_join(&sorter, 0, (struct ids){ c, NULL }, 1);
	ids_join(&sorter, 1, (struct ids){ a, NULL }, 2);
	all = ids_joined(&sorter);
	ok(!all.high && ids_at(all, 0) == 6 && ids_at(all, 2) == 2);
}

int
main(void)
{
	static const size_t sizes[] = { 1, 2, 63, 64, 65, 1000, 30 };
	static const uint64_t limits[] = { 1, 5, 256, 257, 70000, UINT64_MAX };
	static const uint64_t few[] = { 9, 2, 9, 0, UINT64_MAX };
	static uint64_t id[1000];
	struct rng rng = { .seed = 1 };
	struct unique_ids g = { 0 };
	bool good = true;

	ok(gathers(&g, few, 5, 0) && g.count == 4 && g.id[3] == UINT64_MAX);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t k = 0; k < sizeof(limits) / sizeof(*limits); k++) {
			for (size_t i = 0; i < sizes[s]; i++)
				id[i] = rng_below(&rng, limits[k]);
			good = good && gathers(&g, id, sizes[s],
						       limits[k]);
		}
	ok(good);
	joined();
	ok(gathers(&g, NULL, 0, 1) && g.count == 0);
	unique_ids_release(&g);
	sorter_release(&sorter);
	ok(gathers(&g, NULL, 0, 0));
	unique_ids_release(&g);
	sorter_release(&sorter);
	return tap_done();
}
