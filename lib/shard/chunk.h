/*
 * chunk - some floats of a variable and their optimizer slots, never torn.
 *
 * A reader that needs a chunk for a while (a message on its way out, a
 * checkpoint, an evaluator's snapshot) takes a reference to it.  A chunk with
 * other references is never written: chunk_writable() puts a fresh copy in its
 * place.
 */
#ifndef PS_CHUNK_H
#define PS_CHUNK_H

#include "wire/message.h"

struct chunk {
	struct refcount hold;
	size_t size;		/* floats of the values, and of each slot */
	size_t slots;
	float *value;		/* size, then size for each slot */
};

/* Returns a chunk with one reference; its values and slots are uninitialised.
   refcount_drop() frees it. */
struct chunk *chunk_blank(size_t size, size_t slots);

/* Make *c writable: unless this is its only reference, drop the reference and
   put a copy of the chunk in its place. */
void chunk_writable(struct chunk **c);

static inline float *
chunk_slot(const struct chunk *c, size_t slot)
{
	return c->value + (1 + slot) * c->size;
}

#endif
