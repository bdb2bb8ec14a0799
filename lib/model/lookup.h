/* lookup - ids of words: Keras's StringLookup and Hashing. */
#ifndef PS_LOOKUP_H
#define PS_LOOKUP_H

#include "base/fail.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lookup;

/*
 * Return a lookup by a vocabulary of count words, which are copied.  oov is
 * Keras's num_oov_indices: unknown words get the ids below oov (by hash if
 * there are several), and the words of the vocabulary those from oov on.  With
 * a mask word, that one is id 0 and all others move up by one.  Return NULL,
 * with FAIL_CONFIG, if a word is in the list twice.  The caller frees the
 * lookup.
 */
struct lookup *lookup_vocabulary(char *const *words, size_t count,
				 uint64_t oov, const char *mask,
				 struct fail *);

/* Return a lookup by XXH3-64 of the word, modulo bins; the caller frees it. */
struct lookup *lookup_hashing(uint64_t bins);

/*
 * Return the same lookup once more; each reference is to be freed.  Only one
 * thread at a time may share or free.
 */
struct lookup *lookup_share(struct lookup *);

void lookup_free(struct lookup *);

uint64_t lookup_rows(const struct lookup *);	/* all ids are below this */

#define LOOKUP_UNKNOWN	UINT64_MAX	/* the word is not in the vocabulary,
					   and oov is 0 */
/* Return the id of a word of size bytes, or LOOKUP_UNKNOWN. */
uint64_t lookup_find(const struct lookup *, const char *word, size_t size);

/* Add to a hash everything that decides which ids words get. */
void lookup_hash(const struct lookup *, struct hash *);

/*
 * Return whether both give the same ids to the same words; NULL is a lookup
 * without words.
 */
bool lookup_same(const struct lookup *, const struct lookup *);

/*
 * Return what differs between two lookups that are not the same, for example
 * "its words".
 */
const char *lookup_difference(const struct lookup *, const struct lookup *);

/* Return the word of an id of a vocabulary, or NULL. */
const char *lookup_word(const struct lookup *, uint64_t id);

#endif
