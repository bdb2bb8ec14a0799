/*
 * waiting_pulls - pulls that a server answers when a round has ended.
 *
 * Of each peer and part only the last one waits: who asks again has given the
 * one before up.  But a relay asks for many, each by its request number.
 */
#ifndef PS_WAITING_PULLS_H
#define PS_WAITING_PULLS_H

#include "wire/message.h"

#define WAITING_PULLS_BYTES	((size_t)64 << 20)	/* of keys, that wait */

/* Empty it is { 0 }. */
struct waiting_pulls {
	struct waiting_pull {
		       uint64_t peer;
		       struct message pull;	/* frame[0] is our copy */
		       uint64_t ahead;	/* the number of what was sent ahead */
	} *pull;
	size_t count, room;
	size_t bytes;		/* of all their keys */
	size_t enough;		/* of those whose peers are there */
};

/* A PULL, whose frame is copied; relayed: of a relay.  True: so much waits
   that it is time to see who has left. */
bool waiting_pulls_add(struct waiting_pulls *, uint64_t peer, bool relayed,
		       const struct message *, uint64_t ahead);

/* Those who are not here wait for nothing. */
void waiting_pulls_forget_leavers(struct waiting_pulls *,
				  bool (*is_here)(void *self, uint64_t peer),
				  void *self);

/* Empty it: what it held is the caller's, to look at and release. */
struct waiting_pulls waiting_pulls_take(struct waiting_pulls *);
/* NULL: there are no more. */
const struct waiting_pull *waiting_pulls_at(const struct waiting_pulls *,
					    size_t);
void waiting_pulls_sent_ahead(struct waiting_pulls *, size_t, uint64_t ahead);
void waiting_pulls_release(struct waiting_pulls *);

/* For tests: NULL, or what does not hold; rounds below this step have ended. */
const char *waiting_pulls_check(const struct waiting_pulls *, uint64_t step);

#endif
