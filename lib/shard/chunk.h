/*
 * chunk - some floats of a variable and their slots, never torn.
 *
 * Whoever reads a chunk for a while (a message on its way out, a checkpoint, an
 * evaluator's snapshot) takes a reference.  A chunk that somebody else refers
 * to is not written: chunk_writable() puts a fresh copy in its place.
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

/* With one reference, and whatever was in memory for values. */
struct chunk *chunk_blank(size_t size, size_t slots);

/* Make *c fit to be written; what it was goes to its other readers. */
void chunk_writable(struct chunk **c);

static inline float *
chunk_slot(const struct chunk *c, size_t slot)
{
	return c->value + (1 + slot) * c->size;
}

#endif
