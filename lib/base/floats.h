/*
 * floats - numbers that are sent as they lie.
 *
 * Who has sent them need not wait until they are gone: to write again it takes
 * the same memory if nobody reads that any more, and else fresh memory.
 */
#ifndef PS_FLOATS_H
#define PS_FLOATS_H

#include "base/hold.h"

#include <stddef.h>

struct floats {
	struct hold hold;
	size_t room;
	_Alignas(16) float at[];
};

/* Room for n that nobody else reads, in *p (NULL: none yet): its .at. */
float *floats_room(struct floats **p, size_t n);
/* So many have room for so many bytes. */
static inline size_t
floats_for(size_t bytes)
{
	return (bytes + sizeof(float) - 1) / sizeof(float);
}

void floats_free(struct floats **);

#endif
