/*
 * hash - XXH3, for hash tables and for finding damage.
 *
 * The hashes find accidents, not attacks: anybody can make two texts with the
 * same hash.
 */
#ifndef PS_HASH_H
#define PS_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_TEXT	33	/* 32 hexadecimal digits and a NUL */

/* Return the XXH3-64 of size bytes. */
uint64_t hash64(const void *, size_t size);

/*
 * Return the hash of a sequence of texts: the first argument is the hash of the
 * texts before, 0 if there are none; the others are the next text.
 */
uint64_t hash_chain(uint64_t of_those_before, const void *, size_t size);

/*
 * Mix the bits of a number, so that each bit of the result depends on all bits.
 * Different numbers have different results: hash_unmix() is the inverse.  This
 * is the finalizer of splitmix64.
 */
static inline uint64_t
hash_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t hash_unmix(uint64_t);

/* The XXH3-128 of bytes that come in pieces; hash_text() writes it as 32
   hexadecimal digits. */
struct hash;
struct hash *hash_new(void);
void hash_free(struct hash *);
void hash_reset(struct hash *);
void hash_add(struct hash *, const void *, size_t size);
void hash_text(const struct hash *, char text[HASH_TEXT]);

#endif
