/*
 * coord_lease - what workers have.
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
	uint64_t first, count;
	uint64_t server;	/* run again for this one; or WIRE_NONE */
	bool called_off;	/* nobody waits for it any more */
};

void lease_init(struct coord *);
void lease_release(struct coord *);
void lease_join(struct coord *, const struct member *);
const char *lease_check(const struct coord *);
/* in_flight of them; id 0: free. */
struct leased *lease_of(const struct coord *, const struct member *);
bool lease_has_any(const struct coord *, const struct member *);
/* Another one, with a number; begins: it is what the worker is at. */
struct leased *lease_add(struct coord *, struct member *, bool begins);
/* LEASE, as every scheduler has it; which attempt it is, of what, is to be put
   in.  Its frames are good until the next one. */
struct message lease_describe(struct coord *, const struct leased *,
			      const struct lease_terms *);
/* It is done with that one; a result was its own; it is not what others wait
   for; and it has left what was cancelled. */
void lease_over(struct coord *, struct member *, struct leased *);
void lease_count(struct coord *, struct member *);
void lease_keeps_up(struct coord *, struct member *);
void lease_answered(struct coord *, struct member *);
void lease_falls_behind(struct coord *, struct member *);
void lease_retry(struct coord *, uint64_t attempts);
/* A new term: it has nothing. */
void lease_forget(struct coord *, const struct member *);
uint64_t lease_begun(const struct coord *, const struct member *);
uint64_t lease_results(const struct coord *, const struct member *);
uint64_t lease_retried(const struct coord *);	/* not the first attempts */
/*
 * The one with the fewest leases, of these who has waited longest, or NULL.
 * Who is behind gets none ahead: that one would hold everybody up again.
 */
struct member *lease_turn(const struct coord *);
/* That of this number, or NULL. */
struct leased *lease_find(const struct coord *, const struct member *,
			  uint64_t id);
/* Tell the worker that a lease of its own, if it is one, need not be done. */
void lease_call_off(struct coord *, const struct member *, struct leased *);
void lease_take_back(struct coord *, struct member *);
/* A worker runs its leases in order: the first step left is to blame.  One
   that is to be quarantined for that, or WIRE_NONE. */
uint64_t lease_blame(struct coord *, const struct member *);
/* One step less. */
void lease_progress(struct coord *, struct member *, uint64_t id);
void lease_cancel(struct coord *, uint64_t first, uint64_t count);
/* Is any of them at a step that it had begun before that? */
bool lease_cancelling(const struct coord *);
/* Is anybody at steps? */
bool lease_held(const struct coord *);
void lease_exhausted(struct coord *, struct member *,
		     const struct message *);

#endif
