/*
 * pull_keys - the keys of answered pulls, for the pushes to come.
 *
 * A worker that pushes to the rows of an earlier pull names that pull by its
 * request number, and does not send the keys again.  So a server keeps the keys
 * of each answered pull until a push takes them.  Keys that no push takes are
 * dropped, the oldest first, when more than PULL_KEYS_BYTES are kept.  A push
 * that names dropped keys is answered GONE, and its sender then sends the keys.
 */
#ifndef PS_PULL_KEYS_H
#define PS_PULL_KEYS_H

#include "wire/message.h"

#define PULL_KEYS_BYTES	((size_t)64 << 20)	/* of all keys together, at
						   most */
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

/* Keep a copy of a pull's keys if they have at least WIRE_RECALL bytes; shorter
   ones cost less to send again. */
void pull_keys_keep(struct pull_keys *, uint64_t peer, uint64_t request,
		    const struct frame *keys);

/* Take out the keys of a pull; the caller frees them with free().  NULL: they
   are not kept. */
struct pulled_keys *pull_keys_take(struct pull_keys *, uint64_t peer,
				   uint64_t request);

#endif
