/*
 * send_buffer - numbers that are sent as they lie.
 *
 * Who has sent them need not wait until they are gone: to write again it takes
 * the same memory if nobody reads that any more, and else fresh memory.
 */
#ifndef PS_SEND_BUFFER_H
#define PS_SEND_BUFFER_H

#include "base/refcount.h"

#include <stddef.h>

struct send_buffer {
	struct refcount hold;
	size_t room;
	_Alignas(16) float at[];
};

/* Room for n that nobody else reads, in *p (NULL: none yet): its .at. */
float *send_buffer_room(struct send_buffer **p, size_t n);
/* So many have room for so many bytes. */
static inline size_t
send_buffer_for(size_t bytes)
{
	return (bytes + sizeof(float) - 1) / sizeof(float);
}

void send_buffer_free(struct send_buffer **);

#endif
