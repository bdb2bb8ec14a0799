/*
 * recall - the keys of pulls, for the pushes to come.
 *
 * Who pushes to the rows of an earlier pull says which pull that was, and does
 * not send their keys again.  A server remembers the keys of pulls that were
 * answered until they are pushed to; those that nobody pushes to make room,
 * the oldest first.  What it has forgotten it says is GONE, and is sent.
 */
#ifndef PS_RECALL_H
#define PS_RECALL_H

#include "wire/message.h"

#define RECALL_BYTES	((size_t)64 << 20)	/* of all, at most */
#define RECALL_BUCKETS	4096

struct recalled {
	uint64_t peer, request;
	struct recalled *next;		/* of its bucket */
	struct recalled *older, *newer;
	struct frame keys;		/* the bytes lie behind the struct */
};

struct recall {				/* { 0 } is empty */
	struct recalled *bucket[RECALL_BUCKETS];
	struct recalled *oldest, *newest;
	size_t bytes;
};

void recall_release(struct recall *);

/* Remember the keys of a pull, if they are worth it (WIRE_RECALL). */
void recall_keep(struct recall *, uint64_t peer, uint64_t request,
		 const struct frame *keys);

/* The keys of a pull, now the caller's to free(); NULL: forgotten. */
struct recalled *recall_take(struct recall *, uint64_t peer,
			     uint64_t request);

#endif
