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

/* XXH3-128 of what comes in pieces, as 32 hexadecimal digits. */
struct hash;
struct hash *hash_new(void);
void hash_free(struct hash *);
void hash_reset(struct hash *);
void hash_add(struct hash *, const void *, size_t size);
void hash_text(const struct hash *, char text[HASH_TEXT]);

#endif
