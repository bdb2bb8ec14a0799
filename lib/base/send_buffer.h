/*
 * send_buffer - floats that are sent without a copy.
 *
 * The sender need not wait until the transport has sent them.  When it writes
 * again it gets the same memory if nobody reads that any more, else fresh
 * memory.
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

/*
 * Return room for n floats that nobody else reads: (*p)->at.  *p is NULL at
 * first; the old contents are lost.  The room is the caller's until
 * send_buffer_free().
 */
float *send_buffer_room(struct send_buffer **p, size_t n);

/* Return the number of floats that have room for that many bytes. */
static inline size_t
send_buffer_for(size_t bytes)
{
	return (bytes + sizeof(float) - 1) / sizeof(float);
}

/* Drop the caller's reference, and set the pointer to NULL. */
void send_buffer_free(struct send_buffer **);

#endif
