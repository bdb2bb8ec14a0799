/*
 * coord_sync - the rounds of a synchronous run.
 */
#ifndef PS_COORD_SYNC_H
#define PS_COORD_SYNC_H

#include "coord/coord_private.h"

struct ask;
struct result;

void sync_init(struct coord *);
void sync_release(struct coord *);
/* Are there rounds: is the run synchronous, and has it begun? */
bool sync_begun(const struct coord *);
/* Takes the answers to CHECK: which replicas of the round servers lack.  true:
   some, which are now done again; false: COMMIT was sent. */
bool sync_checked(struct coord *, const struct ask *);
/* The step of the round that is being committed, and its result, good until the
   next call; sync_committed() closes the round. */
uint64_t sync_step(const struct coord *);
void sync_result(const struct coord *, struct result *, const float **scores,
		 const unsigned char **positive);
void sync_committed(struct coord *);

/*
 * Residuals.  sync_undecided(): is it not known yet how the pushes of the first
 * round, which has this step, are encoded?  next: the step of the round that
 * follows it, WIRE_NONE: none is open.  sync_decide() says it; last: no round
 * follows, or a checkpoint comes between.
 * sync_send_residuals() sends RESIDUAL to workers that await it.
 * sync_drop_residuals(): a checkpoint is made of the steps below this one, and
 * residuals of them that were not flushed are lost.
 */
bool sync_undecided(const struct coord *, uint64_t *step, uint64_t *next);
void sync_decide(struct coord *, bool last);
void sync_send_residuals(struct coord *);
void sync_drop_residuals(struct coord *, uint64_t below);
uint64_t sync_residuals_lost(const struct coord *);
/* See rounds_wait_for_holders(). */
bool sync_waits_for_holders(const struct coord *, const struct member *);

size_t sync_replicas(const struct coord *);	/* 0: no rounds */
/* Is this the "worker" that the queue leases steps to in sync: the rounds? */
bool sync_is(const struct coord *, const void *worker);
const char *sync_check(const struct coord *);

#endif
