#include "model/unique_ids.h"

#include "base/hash.h"
#include "base/mem.h"
#include "tensor/target_clones.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SMALL		64	/* up to this many ids insertion sort is faster
				   than radix sort */
#define DIGIT		11	/* bits of a digit */
#define DIGITS		((size_t)1 << DIGIT)
#define MIXED		(2 * DIGIT)	/* first bits of keys, which tell nearly
					   all apart */
#define FEW		4	/* ids marked in a word: mostly at most this
				   many */
#define TOP		((uint64_t)1 << 63)
#define CLOSE		2	/* words for each id: up to this many, marking
				   is faster than sorting */

void
unique_ids_release(struct unique_ids *g)
{
	free(g->id);
	free(g->row);
	*g = (struct unique_ids){ 0 };
}

void
sorter_release(struct sorter *s)
{
	free(s->key);
	free(s->word);
	free(s->other);
	free(s->mark);
	free(s->below);
	free(s->low);
	free(s->high);
	*s = (struct sorter){ 0 };
}

void
ids_join(struct sorter *s, size_t at, struct ids ids, size_t n)
{
	const bool had = at > 0 && s->joined_high;

	s->low = mem_grow(s->low, at + n, &s->low_room, sizeof(*s->low));
	s->joined_high = had || ids.high;
	if (n > 0)
		memcpy(s->low + at, ids.low, n * sizeof(*s->low));
	if (!s->joined_high)
		return;
	s->high = mem_grow(s->high, at + n, &s->high_room, sizeof(*s->high));
	if (!had)
		memset(s->high, 0, at * sizeof(*s->high));
	if (ids.high && n > 0)
		memcpy(s->high + at, ids.high, n * sizeof(*s->high));
	else
		memset(s->high + at, 0, n * sizeof(*s->high));
}

struct ids
ids_joined(const struct sorter *s)
{
	return (struct ids){ s->low, s->joined_high ? s->high : NULL };
}

void
unique_ids_room(struct unique_ids *g, size_t n)
{
	assert(n <= UINT32_MAX);
	if (n <= g->room)
		return;
	g->room = n < SMALL ? SMALL : n + n / 4;
	g->id = mem_resize(g->id, g->room + FEW, sizeof(*g->id));
	g->row = mem_resize(g->row, g->room, sizeof(*g->row));
}

static void
make_sorting_room(struct sorter *s, size_t n)
{
	if (n <= s->room)
		return;
	s->room = n < SMALL ? SMALL : n + n / 4;
	s->key = mem_resize(s->key, s->room, sizeof(*s->key));
	s->word = mem_resize(s->word, s->room, sizeof(*s->word));
	s->other = mem_resize(s->other, s->room, sizeof(*s->other));
}

static void
make_marking_room(struct sorter *s, size_t marks)
{
	if (marks <= s->mark_room)
		return;
	s->mark_room = 2 * marks;
	s->mark = mem_resize(s->mark, s->mark_room, sizeof(*s->mark));
	s->below = mem_resize(s->below, s->mark_room, sizeof(*s->below));
}

static unsigned
bits_of(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

static void
swap(struct sorter *s)
{
	uint64_t *sorted = s->other;

	s->other = s->word;
	s->word = sorted;
}

/* Turn the counts of each digit into where its words begin. */
static void
add_up(size_t *start)
{
	size_t sum = 0;

	for (size_t d = 0; d < DIGITS; d++) {
		const size_t count = start[d];

		start[d] = sum;
		sum += count;
	}
}

/* Sort words by their bits low to high - 1, by radix. */
static void
sort_words(struct sorter *s, size_t n, unsigned low, unsigned high)
{
	for (; low < high; low += DIGIT) {
		size_t start[DIGITS] = { 0 };

		for (size_t i = 0; i < n; i++)
			start[s->word[i] >> low & (DIGITS - 1)]++;
		add_up(start);
		for (size_t i = 0; i < n; i++)
			s->other[start[s->word[i] >> low & (DIGITS - 1)]++] =
				s->word[i];
		swap(s);
	}
}

/* Sort words, which are places of keys, by the bits of the keys from low on. */
static void
sort_places(struct sorter *s, size_t n, unsigned low)
{
	const uint64_t *key = s->key;

	for (; low < 64; low += DIGIT) {
		size_t start[DIGITS] = { 0 };

		for (size_t i = 0; i < n; i++)
			start[key[i] >> low & (DIGITS - 1)]++;
		add_up(start);
		for (size_t i = 0; i < n; i++)
			s->other[start[key[s->word[i]] >> low &
				       (DIGITS - 1)]++] = s->word[i];
		swap(s);
	}
}

/* Finish the order by insertion: few places are still wrong. */
static void
insert_places(struct sorter *s, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t place = s->word[i], key = s->key[place];
		size_t j = i;

		for (; j > 0 && s->key[s->word[j - 1]] > key; j--)
			s->word[j] = s->word[j - 1];
		s->word[j] = place;
	}
}

/*
 * List each key once, and the key of each place.  The low bits of a word, by
 * mask, are a place.
 */
static void
list_unique(struct unique_ids *g, const struct sorter *s, size_t n,
	    uint64_t mask)
{
	g->count = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t at = s->word[i] & mask, key = s->key[at];

		if (i == 0 || key != g->id[g->count - 1])
			g->id[g->count++] = key;
		g->row[at] = (uint32_t)(g->count - 1);
	}
}

/*
 * List the marked ids in order, and return their number; below[m] becomes the
 * number of ids below word m.  FEW ids are written for every word, whether it
 * has them or not: that is faster than a branch.  So id[] has room for FEW
 * more.
 */
static TARGET_CLONES size_t
list_marked(const uint64_t *restrict mark, uint32_t *restrict below,
	    size_t marks, uint64_t *restrict id)
{
	size_t count = 0;

	for (size_t m = 0; m < marks; m++) {
		uint64_t bits = mark[m], *to = id + count;

		below[m] = (uint32_t)count;
		count += (size_t)__builtin_popcountll(bits);
		for (int k = 0; k < FEW; k++, bits &= bits - 1)
			to[k] = 64 * m + (uint64_t)__builtin_ctzll(bits | TOP);
		for (to += FEW; bits; bits &= bits - 1)
			*to++ = 64 * m + (uint64_t)__builtin_ctzll(bits);
	}
	return count;
}

static TARGET_CLONES void
find_marked(const uint64_t *restrict mark, const uint32_t *restrict below,
	    const uint32_t *restrict id, uint32_t *restrict row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t lower = ((uint64_t)1 << id[i] % 64) - 1;

		row[i] = below[id[i] / 64] + (uint32_t)
			__builtin_popcountll(mark[id[i] / 64] & lower);
	}
}

/* Gather ids that are close to each other: mark them in an array of bits. */
static void
gather_marked(struct unique_ids *g, struct sorter *s, const uint32_t *id,
	      size_t n, size_t marks)
{
	make_marking_room(s, marks);
	memset(s->mark, 0, marks * sizeof(*s->mark));
	for (size_t i = 0; i < n; i++)
		s->mark[id[i] / 64] |= (uint64_t)1 << id[i] % 64;
	g->count = list_marked(s->mark, s->below, marks, g->id);
	find_marked(s->mark, s->below, id, g->row, n);
}

/*
 * Return a bound of the ids: limit - 1 if that is small enough for marking,
 * without reading the ids; else the largest id.
 */
static uint64_t
largest_of(struct ids ids, size_t n, uint64_t limit)
{
	uint64_t largest = 0;

	if (limit > 0 && limit / 64 < CLOSE * n)
		return limit - 1;

	for (size_t i = 0; i < n; i++)
		if (ids_at(ids, i) > largest)
			largest = ids_at(ids, i);
	return largest;
}

/*
 * An id and its place mostly fit into one word, which halves the memory traffic
 * of sorting.
 */
void
unique_ids_find(struct unique_ids *g, struct sorter *s, struct ids ids,
		size_t n, uint64_t limit)
{
	const unsigned places = bits_of(n);
	const uint64_t largest = largest_of(ids, n, limit);
	const bool fits = bits_of(largest) + places <= 64;

	unique_ids_room(g, n);
	if (n > SMALL && !ids.high && largest / 64 < CLOSE * n) {
		gather_marked(g, s, ids.low, n, largest / 64 + 1);
		return;
	}
	make_sorting_room(s, n);
	for (size_t i = 0; i < n; i++) {
		s->key[i] = ids_at(ids, i);
		s->word[i] = fits && n > SMALL ? s->key[i] << places | i : i;
	}
	if (n <= SMALL)
		insert_places(s, n);
	else if (fits)
		sort_words(s, n, places, places + bits_of(largest));
	else
		sort_places(s, n, 0);
	list_unique(g, s, n, ((uint64_t)1 << places) - 1);
}

/* Keys are mixed, so their first MIXED bits tell nearly all apart. */
void
unique_ids_keys(struct unique_ids *g, struct sorter *s, struct ids ids,
		size_t n)
{
	unique_ids_room(g, n);
	make_sorting_room(s, n);
	for (size_t i = 0; i < n; i++) {
		s->key[i] = hash_mix(ids_at(ids, i));
		s->word[i] = i;
	}
	if (n > SMALL)
		sort_places(s, n, 64 - MIXED);
	insert_places(s, n);
	list_unique(g, s, n, UINT64_MAX);
}
