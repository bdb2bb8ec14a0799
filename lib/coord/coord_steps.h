/*
 * coord_steps - gives out steps, and takes their results and errors.
 */
#ifndef PS_COORD_STEPS_H
#define PS_COORD_STEPS_H

#include "coord/coord_private.h"

struct member;

/* Leases all steps that can be leased now. */
void steps_give_out(struct coord *);
/* Returns the limit: only steps below it can begin now. */
uint64_t steps_limit(const struct coord *);
/* Takes back all leases of a worker, to be given to others. */
void steps_take_back(struct coord *, struct member *);
/* Takes DONE, the results of a lease.  -1 (FAIL_PROTOCOL): it is malformed. */
int steps_done(struct coord *, struct member *, const struct message *,
	       uint64_t now_ms, struct fail *);
/* Ends the step whose round all servers have committed. */
void steps_committed(struct coord *, uint64_t now_ms);
/* Takes FAILED: the step itself is in error.  If the lease still counts, the
   step and all requests that wait are given up. */
void steps_failed(struct coord *, struct member *, const struct message *);

#endif
