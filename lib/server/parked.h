/*
 * parked - pulls that a server answers when a round has ended.
 *
 * Of each peer and part only the last one waits: who asks again has given the
 * one before up.
 */
#ifndef PS_PARKED_H
#define PS_PARKED_H

#include "wire/message.h"

/* Empty it is { 0 }. */
struct parked {
	struct parked_pull {
		uint64_t peer;
		struct message pull;	/* frame[0] is our copy */
	} *pull;
	size_t count, room;
	size_t bytes;		/* of all their keys */
};

/* A PULL, whose frame is copied. */
void parked_add(struct parked *, uint64_t peer, const struct message *);

/* The last one takes its place. */
void parked_forget(struct parked *, size_t i);

/* Empty it: what it held is the caller's, to release. */
struct parked parked_take(struct parked *);
void parked_release(struct parked *);

#endif
