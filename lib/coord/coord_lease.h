/*
 * coord_lease - the leases of each worker.
 */
#ifndef PS_COORD_LEASE_H
#define PS_COORD_LEASE_H

#include "coord/coord_private.h"
#include "coord/round.h"

struct member;

struct leased {
	uint64_t id;
	size_t unfinished;	/* steps without a result */
	struct attempt at;	/* of a round */
	uint64_t first, count;	/* steps */
	uint64_t server;	/* the server for which they are run again;
				   WIRE_NONE: they are not */
	bool called_off;	/* the worker was told to drop it */
	bool told;		/* and how to push it (RESIDUAL) */
	bool dropped;		/* the worker was gone when it was sent */
};

void lease_init(struct coord *);
void lease_release(struct coord *);
void lease_join(struct coord *, const struct member *);
const char *lease_check(const struct coord *);
/* Returns the worker's array of in_flight leases; those with id 0 are free. */
struct leased *lease_of(const struct coord *, const struct member *);
bool lease_has_any(const struct coord *, const struct member *);
/* Adds a lease with a new number, for which there must be room.  begins: the
   worker begins with it at once, for it had no other one. */
struct leased *lease_add(struct coord *, struct member *, bool begins);
/* Returns LEASE without the fields that only the scheduler knows, such as the
   number of the attempt.  Its frames are good until the next call. */
struct message lease_describe(struct coord *, const struct leased *,
			      const struct lease_terms *);
/* The worker is done with this lease. */
void lease_over(struct coord *, struct member *, struct leased *);
/* Counts a step, or a replica, whose result was this worker's. */
void lease_count(struct coord *, struct member *);
/* The others do not wait for the worker: it may get leases ahead again. */
void lease_keeps_up(struct coord *, struct member *);
/* The worker has left the steps that were cancelled (OK), or is gone. */
void lease_answered(struct coord *, struct member *);
/* All others wait for the worker: it gets no lease ahead. */
void lease_falls_behind(struct coord *, struct member *);
/* Counts attempts that are not the first. */
void lease_retry(struct coord *, uint64_t attempts);
/* A new term: forgets the worker's leases. */
void lease_forget(struct coord *, const struct member *);
/* Since when, in ms, the worker has been at its first step. */
uint64_t lease_begun(const struct coord *, const struct member *);
uint64_t lease_results(const struct coord *, const struct member *);
/* Returns how many attempts were not the first. */
uint64_t lease_retried(const struct coord *);
/*
 * Returns the worker that is to get the next lease, or NULL: the one with the
 * fewest, and among these the one whose last lease is the oldest.  A worker
 * for which all others had to wait gets one only when it has none.
 */
struct member *lease_turn(const struct coord *);
/* Returns the worker's lease of this number, or NULL. */
struct leased *lease_find(const struct coord *, const struct member *,
			  uint64_t id);
/* Tells the worker to drop a lease (CANCEL), unless that is free. */
void lease_call_off(struct coord *, const struct member *, struct leased *);
/* Takes back all leases of the worker: their steps are leased again. */
void lease_take_back(struct coord *, struct member *);
/*
 * The worker died: blames the first step left of its oldest lease, since it
 * runs leases in order.  Returns that step if it is to be quarantined, as too
 * many workers have died under it; else WIRE_NONE.
 */
uint64_t lease_blame(struct coord *, const struct member *);
/* One step of this lease has a result. */
void lease_progress(struct coord *, struct member *, uint64_t id);
/* Tells all workers to drop these steps (CANCEL), and forgets all leases. */
void lease_cancel(struct coord *, uint64_t first, uint64_t count);
/* Has any worker not answered that yet?  It may be at one of those steps. */
bool lease_cancelling(const struct coord *);
/* Has any worker that answers a lease? */
bool lease_held(const struct coord *);
/* The worker has used up its data: it gets no more leases until it is READY
   again. */
void lease_exhausted(struct coord *, struct member *,
		     const struct message *);

#endif
