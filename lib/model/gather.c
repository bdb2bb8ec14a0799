#include "model/gather.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SMALL	64	/* below this, inserting beats counting digits */

void
gather_release(struct gather *g)
{
	free(g->id);
	free(g->row);
	free(g->pair);
	free(g->other);
	*g = (struct gather){ 0 };
}

static void
make_room(struct gather *g, size_t n)
{
	if (n <= g->room)
		return;
	g->room = n < SMALL ? SMALL : 2 * n;
	g->id = mem_resize(g->id, g->room, sizeof(*g->id));
	g->row = mem_resize(g->row, g->room, sizeof(*g->row));
	g->pair = mem_resize(g->pair, g->room, sizeof(*g->pair));
	g->other = mem_resize(g->other, g->room, sizeof(*g->other));
}

static void
insertion_sort(struct gather_pair *pair, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct gather_pair p = pair[i];
		size_t j = i;

		for (; j > 0 && pair[j - 1].id > p.id; j--)
			pair[j] = pair[j - 1];
		pair[j] = p;
	}
}

/* By digits of 8 bits, lowest first, as many as the largest id has. */
static void
radix_sort(struct gather *g, size_t n, uint64_t largest)
{
	for (int shift = 0; shift < 64 && largest >> shift; shift += 8) {
		size_t start[257] = { 0 };

		for (size_t i = 0; i < n; i++)
			start[((g->pair[i].id >> shift) & 255) + 1]++;
		for (int d = 0; d < 256; d++)
			start[d + 1] += start[d];
		for (size_t i = 0; i < n; i++)
			g->other[start[(g->pair[i].id >> shift) & 255]++] =
				g->pair[i];

		struct gather_pair *sorted = g->other;

		g->other = g->pair;
		g->pair = sorted;
	}
}

static void
sort(struct gather *g, size_t n, uint64_t largest)
{
	if (n < SMALL)
		insertion_sort(g->pair, n);
	else
		radix_sort(g, n, largest);

	g->count = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || g->pair[i].id != g->pair[i - 1].id)
			g->id[g->count++] = g->pair[i].id;
		g->row[g->pair[i].at] = g->count - 1;
	}
}

void
gather_ids(struct gather *g, const uint64_t *id, size_t n)
{
	uint64_t largest = 0;

	make_room(g, n);
	for (size_t i = 0; i < n; i++) {
		g->pair[i] = (struct gather_pair){ id[i], i };
		if (id[i] > largest)
			largest = id[i];
	}
	sort(g, n, largest);
}

void
gather_keys(struct gather *g, const uint64_t *id, size_t n)
{
	make_room(g, n);
	for (size_t i = 0; i < n; i++)
		g->pair[i] = (struct gather_pair){ hash_mix(id[i]), i };
	sort(g, n, UINT64_MAX);
}
