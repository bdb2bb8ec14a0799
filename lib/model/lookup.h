/*
 * lookup - words to ids: Keras's StringLookup and Hashing.
 */
#ifndef PS_LOOKUP_H
#define PS_LOOKUP_H

#include "base/fail.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lookup;

/*
 * By a vocabulary of count words, copied; oov is num_oov_indices: unknown
 * words get ids below oov (by hash if there are several), the words follow.
 * With a mask word, that one is id 0 and all others move up by one.
 * A word that stands in the list twice is refused.
 */
struct lookup *lookup_vocabulary(char *const *words, size_t count,
				 uint64_t oov, const char *mask,
				 struct fail *);

/* By XXH3-64 of the word modulo bins. */
struct lookup *lookup_hashing(uint64_t bins);

/* The same once more; each is to be freed.  In one thread at a time. */
struct lookup *lookup_share(struct lookup *);

void lookup_free(struct lookup *);

uint64_t lookup_rows(const struct lookup *);	/* ids are below this */

#define LOOKUP_UNKNOWN	UINT64_MAX	/* not in the vocabulary, and no oov */
uint64_t lookup_find(const struct lookup *, const char *word, size_t size);

/* Add all that decides which ids the words get. */
void lookup_hash(const struct lookup *, struct hash *);

/* Do they give the same ids to the same words?  NULL: to none. */
bool lookup_same(const struct lookup *, const struct lookup *);

/* Of two that are not the same: what of them is not, such as "its words". */
const char *lookup_difference(const struct lookup *, const struct lookup *);

/* The word behind an id of a vocabulary, or NULL. */
const char *lookup_word(const struct lookup *, uint64_t id);

#endif
