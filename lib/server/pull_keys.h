/*
 * pull_keys - the keys of pulls, for the pushes to come.
 *
 * Who pushes to the rows of an earlier pull says which pull that was, and does
 * not send their keys again.  A server remembers the keys of pulls that were
 * answered until they are pushed to; those that nobody pushes to make room,
 * the oldest first.  What it has forgotten it says is GONE, and is sent.
 */
#ifndef PS_PULL_KEYS_H
#define PS_PULL_KEYS_H

#include "wire/message.h"

#define PULL_KEYS_BYTES	((size_t)64 << 20)	/* of all, at most */
#define PULL_KEYS_BUCKETS	4096

struct pulled_keys {
	uint64_t peer, request;
	struct pulled_keys *next;	/* of its bucket */
	struct pulled_keys *older, *newer;
	struct frame keys;		/* the bytes lie behind the struct */
};

struct pull_keys {			/* { 0 } is empty */
	struct pulled_keys *bucket[PULL_KEYS_BUCKETS];
	struct pulled_keys *oldest, *newest;
	size_t bytes;
};

void pull_keys_release(struct pull_keys *);

/* Remember the keys of a pull, if they are worth it (WIRE_RECALL). */
void pull_keys_keep(struct pull_keys *, uint64_t peer, uint64_t request,
		    const struct frame *keys);

/* The keys of a pull, now the caller's to free(); NULL: forgotten. */
struct pulled_keys *pull_keys_take(struct pull_keys *, uint64_t peer,
				   uint64_t request);

#endif
