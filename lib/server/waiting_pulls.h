/*
 * waiting_pulls - pulls that a server answers when a round has ended.
 *
 * Of each peer and part only the newest pull waits: a peer that pulls again has
 * given up its earlier pull.  A relay pulls for many workers: there the newest
 * pull of each request number waits.
 */
#ifndef PS_WAITING_PULLS_H
#define PS_WAITING_PULLS_H

#include "wire/message.h"

#define WAITING_PULLS_BYTES	((size_t)64 << 20)	/* of keys */

/* { 0 } is empty. */
struct waiting_pulls {
	struct waiting_pull {
		       uint64_t peer;
		       struct message pull;	/* frame[0] is our copy */
		       uint64_t ahead;	/* number of the values sent ahead for
					   it; 0: none */
	} *pull;
	size_t count, room;
	size_t bytes;		/* of the keys of all pulls */
	size_t enough;		/* twice the bytes that were left when leavers
				   were last dropped */
};

/* Add a PULL, whose frame is copied; relayed: a relay sent it.  Returns true
   when the keys exceed `enough` by more than WAITING_PULLS_BYTES: it is time to
   call waiting_pulls_forget_leavers(). */
bool waiting_pulls_add(struct waiting_pulls *, uint64_t peer, bool relayed,
		       const struct message *, uint64_t ahead);

/* Drop the pulls of all peers that is_here() says have left. */
void waiting_pulls_forget_leavers(struct waiting_pulls *,
				  bool (*is_here)(void *self, uint64_t peer),
				  void *self);

/* Empty it and return what it held, which the caller releases. */
struct waiting_pulls waiting_pulls_take(struct waiting_pulls *);
/* The pull at an index from 0 on; NULL: there are no more. */
const struct waiting_pull *waiting_pulls_at(const struct waiting_pulls *,
					    size_t);
void waiting_pulls_sent_ahead(struct waiting_pulls *, size_t, uint64_t ahead);
void waiting_pulls_release(struct waiting_pulls *);

/* For tests: NULL, or the invariant that is broken; rounds below this step have
   ended. */
const char *waiting_pulls_check(const struct waiting_pulls *, uint64_t step);

#endif
