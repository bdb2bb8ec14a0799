#include "model/lookup.h"

#include "base/mem.h"
#include "base/text.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where a word lies in the arena. */
struct entry {
	size_t start, size;
};

struct lookup {
	size_t sharers;		/* references beside the first */
	uint64_t bins;		/* for hashing; 0: this is a vocabulary */
	uint64_t masked;	/* 1 if there is a mask, whose id is 0; else
				   0 */
	uint64_t oov;		/* ids for unknown words, behind the mask */
	struct text arena;	/* all words, each with its NUL */
	struct entry *word;	/* count words, the mask first if there is
				   one */
	size_t count;
	size_t *slot;		/* open addressing; word + 1, or 0 */
	size_t slots;		/* a power of two, at least twice count */
};

/* Return the slot where a word is, or would be put. */
static size_t *
find_slot(const struct lookup *l, const char *word, size_t size)
{
	size_t at = (size_t)hash64(word, size) & (l->slots - 1);

	for (;; at = (at + 1) & (l->slots - 1)) {
		if (l->slot[at] == 0)
			return &l->slot[at];

		const struct entry *e = &l->word[l->slot[at] - 1];

		if (e->size == size &&
		    memcmp(l->arena.data + e->start, word, size) == 0)
			return &l->slot[at];
	}
}

static int
add(struct lookup *l, const char *word, struct fail *f)
{
	const size_t size = strlen(word);
	size_t *slot = find_slot(l, word, size);

	if (*slot != 0)
		return fail(f, FAIL_CONFIG,
			    "'%s' stands twice in the vocabulary", word);
	l->word[l->count] = (struct entry){ l->arena.size, size };
	text_add_bytes(&l->arena, word, size + 1);
	*slot = ++l->count;
	return 0;
}

struct lookup *
lookup_vocabulary(char *const *words, size_t count, uint64_t oov,
		  const char *mask, struct fail *f)
{
	struct lookup *l = mem_alloc(1, sizeof(*l));

	assert(count < SIZE_MAX / 8);
	l->masked = mask != NULL;
	l->oov = oov;
	l->word = mem_alloc(count + l->masked, sizeof(*l->word));
	for (l->slots = 8; l->slots < 2 * (count + l->masked); )
		l->slots *= 2;
	l->slot = mem_alloc(l->slots, sizeof(*l->slot));

	bool good = !mask || add(l, mask, f) == 0;

	for (size_t i = 0; i < count && good; i++)
		good = add(l, words[i], f) == 0;
	if (good)
		return l;
	lookup_free(l);
	return NULL;
}

struct lookup *
lookup_hashing(uint64_t bins)
{
	struct lookup *l = mem_alloc(1, sizeof(*l));

	assert(bins > 0);
	l->bins = bins;
	return l;
}

struct lookup *
lookup_share(struct lookup *l)
{
	l->sharers++;
	return l;
}

void
lookup_free(struct lookup *l)
{
	if (!l || l->sharers-- > 0)
		return;
	text_release(&l->arena);
	free(l->word);
	free(l->slot);
	free(l);
}

uint64_t
lookup_rows(const struct lookup *l)
{
	return l->bins ? l->bins : l->oov + l->count;
}

uint64_t
lookup_find(const struct lookup *l, const char *word, size_t size)
{
	if (l->bins)
		return hash64(word, size) % l->bins;

	const size_t found = *find_slot(l, word, size);

	if (found > l->masked)
		return l->oov + found - 1;
	if (found > 0)
		return 0;		/* the mask */
	if (l->oov == 0)
		return LOOKUP_UNKNOWN;
	if (l->oov == 1)
		return l->masked;
	return l->masked + hash64(word, size) % l->oov;
}

void
lookup_hash(const struct lookup *l, struct hash *h)
{
	const uint64_t numbers[] = { l->bins, l->masked, l->oov, l->count };

	hash_add(h, numbers, sizeof(numbers));
	if (l->count > 0)	/* the words, each with its NUL */
		hash_add(h, l->arena.data, l->arena.size);
}

bool
lookup_same(const struct lookup *a, const struct lookup *b)
{
	const struct lookup *each[] = { a, b };
	char text[2][HASH_TEXT] = { "", "" };

	if (a == b)
		return true;
	for (size_t i = 0; i < 2; i++) {
		struct hash *h = hash_new();

		if (each[i])
			lookup_hash(each[i], h);
		hash_text(h, text[i]);
		hash_free(h);
	}
	return strcmp(text[0], text[1]) == 0;
}

const char *
lookup_difference(const struct lookup *a, const struct lookup *b)
{
	if (!a->bins != !b->bins)
		return "its kind";
	if (a->bins)
		return "its hash";
	if (a->oov != b->oov)
		return "its num_oov_indices";
	if (a->masked != b->masked)
		return "its mask_token";
	return "its words, or their order";
}

const char *
lookup_word(const struct lookup *l, uint64_t id)
{
	if (id >= l->masked) {
		if (id - l->masked < l->oov)
			return NULL;
		id -= l->oov;
	}
	return id < l->count ? l->arena.data + l->word[id].start : NULL;
}
