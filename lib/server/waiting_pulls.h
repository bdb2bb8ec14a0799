/*
 * waiting_pulls - pulls that a server answers when a round has ended.
 *
 * Of each peer and part only the newest pull waits: a peer that pulls again has
 * given up its earlier pull.  A relay pulls for many workers: there the newest
 * pull of each request number waits.
 *
 * The pulls of a round are in a list of their own, in the order in which they
 * came: so pulls for later rounds, of which one peer may send any number, cost
 * nothing when a round ends.
 */
#ifndef PS_WAITING_PULLS_H
#define PS_WAITING_PULLS_H

#include "wire/message.h"

#define WAITING_PULLS_BYTES	((size_t)64 << 20)	/* of the pulls and
							   their keys */
#define WAITING_PULLS_LISTS	1024	/* rounds with lists of their own */
#define WAITING_PULLS_BUCKETS	4096

struct waiting_pull {
	uint64_t peer;
	uint64_t of;		/* of a relay's the request number; else 0 */
	struct message pull;	/* frame[0] is our copy, behind the struct */
	uint64_t ahead;		/* number of the values sent ahead for it; 0:
				   none */
	struct waiting_pull *next, *before;	/* of its list */
	struct waiting_pull *other;		/* of its bucket */
};

/* { 0 } is empty. */
struct waiting_pulls {
	struct waiting_pulls_list {
		struct waiting_pull *first, *last;
	} round[WAITING_PULLS_LISTS];	/* by the round that a pull waits for */
	struct waiting_pull *bucket[WAITING_PULLS_BUCKETS];
	uint64_t taken;		/* no pull waits for this round, or an earlier
				   one */
	size_t count;
	size_t bytes;		/* of all pulls and their keys */
	size_t enough;		/* twice the bytes that were left when leavers
				   were last dropped */
};

/* Add a PULL, whose frame is copied; relayed: a relay sent it.  Returns true
   when the bytes exceed `enough` by more than WAITING_PULLS_BYTES: it is time
   to call waiting_pulls_forget_leavers(). */
bool waiting_pulls_add(struct waiting_pulls *, uint64_t peer, bool relayed,
		       const struct message *, uint64_t ahead);

/* Drop the pulls of all peers that is_here() says have left. */
void waiting_pulls_forget_leavers(struct waiting_pulls *,
				  bool (*is_here)(void *self, uint64_t peer),
				  void *self);

/* Take out a pull that waits for this round or an earlier one; the caller frees
   it with free().  NULL: there is none. */
struct waiting_pull *waiting_pulls_take(struct waiting_pulls *, uint64_t round);

/* The first pull that waits for this round, and the next one behind a pull;
   NULL: there is none. */
struct waiting_pull *waiting_pulls_first(const struct waiting_pulls *,
					 uint64_t round);
struct waiting_pull *waiting_pulls_next(const struct waiting_pull *);

void waiting_pulls_release(struct waiting_pulls *);

/* For tests: NULL, or the invariant that is broken; rounds below this step have
   ended. */
const char *waiting_pulls_check(const struct waiting_pulls *, uint64_t step);

#endif
