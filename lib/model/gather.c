#include "model/gather.h"

#include "base/hash.h"
#include "base/mem.h"
#include "tensor/clones.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SMALL		64	/* inserting beats counting digits up to here */
#define DIGIT		11	/* bits */
#define DIGITS		((size_t)1 << DIGIT)
#define MIXED		(2 * DIGIT)	/* first bits that tell keys apart */
#define FEW		4	/* ids of a word, mostly fewer */
#define TOP		((uint64_t)1 << 63)
#define CLOSE		2	/* words an id: up to here marking beats
				   sorting */

void
gather_release(struct gather *g)
{
	free(g->id);
	free(g->row);
	free(g->key);
	free(g->word);
	free(g->other);
	free(g->mark);
	free(g->below);
	*g = (struct gather){ 0 };
}

static void
make_room(struct gather *g, size_t n)
{
	if (n <= g->room)
		return;
	g->room = n < SMALL ? SMALL : 2 * n;
	g->id = mem_resize(g->id, g->room + FEW, sizeof(*g->id));
	g->row = mem_resize(g->row, g->room, sizeof(*g->row));
	g->key = mem_resize(g->key, g->room, sizeof(*g->key));
	g->word = mem_resize(g->word, g->room, sizeof(*g->word));
	g->other = mem_resize(g->other, g->room, sizeof(*g->other));
}

static unsigned
bits_of(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

static void
swap(struct gather *g)
{
	uint64_t *sorted = g->other;

	g->other = g->word;
	g->word = sorted;
}

/* Of counts where each digit's words begin. */
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

/* Words by their bits from low up to high, digit by digit. */
static void
sort_words(struct gather *g, size_t n, unsigned low, unsigned high)
{
	for (; low < high; low += DIGIT) {
		size_t start[DIGITS] = { 0 };

		for (size_t i = 0; i < n; i++)
			start[g->word[i] >> low & (DIGITS - 1)]++;
		add_up(start);
		for (size_t i = 0; i < n; i++)
			g->other[start[g->word[i] >> low & (DIGITS - 1)]++] =
				g->word[i];
		swap(g);
	}
}

/* Words are places of keys: by the bits of the keys from low on. */
static void
sort_places(struct gather *g, size_t n, unsigned low)
{
	const uint64_t *key = g->key;

	for (; low < 64; low += DIGIT) {
		size_t start[DIGITS] = { 0 };

		for (size_t i = 0; i < n; i++)
			start[key[i] >> low & (DIGITS - 1)]++;
		add_up(start);
		for (size_t i = 0; i < n; i++)
			g->other[start[key[g->word[i]] >> low &
				       (DIGITS - 1)]++] = g->word[i];
		swap(g);
	}
}

/* What little of the order is still wrong. */
static void
insert_places(struct gather *g, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t place = g->word[i], key = g->key[place];
		size_t j = i;

		for (; j > 0 && g->key[g->word[j - 1]] > key; j--)
			g->word[j] = g->word[j - 1];
		g->word[j] = place;
	}
}

/* Each key once, and where it stands; words are places in the low bits. */
static void
unite(struct gather *g, size_t n, uint64_t mask)
{
	g->count = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t at = g->word[i] & mask, key = g->key[at];

		if (i == 0 || key != g->id[g->count - 1])
			g->id[g->count++] = key;
		g->row[at] = g->count - 1;
	}
}

/*
 * What is marked, in order, and how much; each word learns what is below it.
 * A few ids are written for every word, as if they were there: that is
 * quicker than to ask.  So there is room for as many behind the last one.
 */
static CLONES size_t
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

static CLONES void
find_marked(const uint64_t *restrict mark, const uint32_t *restrict below,
	    const uint64_t *restrict id, size_t *restrict row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t lower = ((uint64_t)1 << id[i] % 64) - 1;

		row[i] = below[id[i] / 64] + (size_t)
			__builtin_popcountll(mark[id[i] / 64] & lower);
	}
}

/* Ids that lie close to each other are marked in a row of bits. */
static void
gather_marked(struct gather *g, const uint64_t *id, size_t n, size_t marks)
{
	if (marks > g->mark_room) {
		g->mark_room = 2 * marks;
		g->mark = mem_resize(g->mark, g->mark_room, sizeof(*g->mark));
		g->below = mem_resize(g->below, g->mark_room,
				      sizeof(*g->below));
	}
	memset(g->mark, 0, marks * sizeof(*g->mark));
	for (size_t i = 0; i < n; i++)
		g->mark[id[i] / 64] |= (uint64_t)1 << id[i] % 64;
	g->count = list_marked(g->mark, g->below, marks, g->id);
	find_marked(g->mark, g->below, id, g->row, n);
}

static uint64_t
largest_of(const uint64_t *id, size_t n)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < n; i++)
		if (id[i] > largest)
			largest = id[i];
	return largest;
}

/* Ids and places mostly fit into a word together, which halves the traffic. */
void
gather_ids(struct gather *g, const uint64_t *id, size_t n)
{
	const unsigned places = bits_of(n);
	const uint64_t largest = largest_of(id, n);
	const bool fits = bits_of(largest) + places <= 64;

	make_room(g, n);
	if (n > SMALL && n <= UINT32_MAX && largest / 64 < CLOSE * n) {
		gather_marked(g, id, n, largest / 64 + 1);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		g->key[i] = id[i];
		g->word[i] = fits && n > SMALL ? id[i] << places | i : i;
	}
	if (n <= SMALL)
		insert_places(g, n);
	else if (fits)
		sort_words(g, n, places, places + bits_of(largest));
	else
		sort_places(g, n, 0);
	unite(g, n, ((uint64_t)1 << places) - 1);
}

/* Mixed keys are told apart by their first bits, but for a few. */
void
gather_keys(struct gather *g, const uint64_t *id, size_t n)
{
	make_room(g, n);
	for (size_t i = 0; i < n; i++) {
		g->key[i] = hash_mix(id[i]);
		g->word[i] = i;
	}
	if (n > SMALL)
		sort_places(g, n, 64 - MIXED);
	insert_places(g, n);
	unite(g, n, UINT64_MAX);
}
