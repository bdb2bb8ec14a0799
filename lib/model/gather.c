#include "model/gather.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>

#define SMALL		64	/* inserting beats counting digits up to here */
#define DIGIT		11	/* bits */
#define DIGITS		((size_t)1 << DIGIT)
#define MIXED		(2 * DIGIT)	/* first bits that tell keys apart */

void
gather_release(struct gather *g)
{
	free(g->id);
	free(g->row);
	free(g->key);
	free(g->word);
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

/* Ids and places mostly fit into a word together, which halves the traffic. */
void
gather_ids(struct gather *g, const uint64_t *id, size_t n)
{
	const unsigned places = bits_of(n);
	uint64_t largest = 0;
	bool fits;

	make_room(g, n);
	for (size_t i = 0; i < n; i++) {
		g->key[i] = id[i];
		if (id[i] > largest)
			largest = id[i];
	}
	fits = bits_of(largest) + places <= 64;
	for (size_t i = 0; i < n; i++)
		g->word[i] = fits && n > SMALL ? id[i] << places | i : i;
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
