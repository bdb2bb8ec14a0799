/*
 * hash - XXH3, for placing words and for finding damage.
 *
 * Against accidents only: nobody is kept out by these.
 */
#ifndef PS_HASH_H
#define PS_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_TEXT	33	/* 32 hexadecimal digits and a NUL */

/* XXH3-64. */
uint64_t hash64(const void *, size_t size);
/* That of a sequence, one more of which is this: 0 is the empty one's. */
uint64_t hash_chain(uint64_t of_those_before, const void *, size_t size);

/*
 * Numbers mixed so that any few bits depend on all: no two give the same, and
 * hash_unmix() is the way back.  splitmix64's finalizer.
 */
static inline uint64_t
hash_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t hash_unmix(uint64_t);

/* XXH3-128 of what comes in pieces, as 32 hexadecimal digits. */
struct hash;
struct hash *hash_new(void);
void hash_free(struct hash *);
void hash_reset(struct hash *);
void hash_add(struct hash *, const void *, size_t size);
void hash_text(const struct hash *, char text[HASH_TEXT]);

#endif
