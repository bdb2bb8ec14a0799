/*
 * parked - pulls that a server answers when a round has ended.
 *
 * Of each peer and part only the last one waits: who asks again has given the
 * one before up.
 */
#ifndef PS_PARKED_H
#define PS_PARKED_H

#include "wire/message.h"

#define PARKED_BYTES	((size_t)64 << 20)	/* of keys, that wait */

/* Empty it is { 0 }. */
struct parked {
	struct parked_pull {
		uint64_t peer;
		struct message pull;	/* frame[0] is our copy */
	} *pull;
	size_t count, room;
	size_t bytes;		/* of all their keys */
	size_t enough;		/* of those whose peers are there */
};

/* A PULL, whose frame is copied.  True: so much waits that it is time to see
   who has left. */
bool parked_add(struct parked *, uint64_t peer, const struct message *);

/* Those who are not here wait for nothing. */
void parked_forget_leavers(struct parked *,
			   bool (*is_here)(void *self, uint64_t peer),
			   void *self);

/* Empty it: what it held is the caller's, to look at and release. */
struct parked parked_take(struct parked *);
/* NULL: there are no more. */
const struct parked_pull *parked_at(const struct parked *, size_t);
void parked_release(struct parked *);

/* For tests: NULL, or what does not hold; rounds below this step have ended. */
const char *parked_check(const struct parked *, uint64_t step);

#endif
