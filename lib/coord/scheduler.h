/*
 * scheduler - how steps are dealt out to workers.
 *
 * scheduler_async gives a step to one worker (also in ssp, where the queue
 * bounds the staleness); scheduler_sync gives each worker a replica of it.
 * coord.c chooses one of them when the run begins.
 */
#ifndef PS_SCHEDULER_H
#define PS_SCHEDULER_H

#include "wire/result.h"

struct coord;
struct leased;
struct member;

/* What can be leased now. */
struct lease_room {
	uint64_t limit;		/* only steps below it */
	bool any;		/* any step to any worker, whatever stream the
				   worker reads */
	bool fresh;		/* new steps, too; not only those that servers
				   lack */
};

/* A result is of no attempt that counts, of a part of its step (a replica), or
   of its whole step. */
enum accepted { ACCEPTED_NOT, ACCEPTED_PART, ACCEPTED_STEP };

/* "lease" is the id of a lease that the member has or had. */
struct scheduler {
	/* Enough workers have come: begin. */
	void (*begin)(struct coord *);
	/* Lease what there is room for; true: more may be leased now. */
	bool (*lease)(struct coord *, const struct lease_room *);
	/* A lease has a result; it has ended without one. */
	enum accepted (*accept)(struct coord *, struct member *,
				uint64_t lease, const struct result *,
				const float *scores,
				const unsigned char *positive);
	void (*release)(struct coord *, struct member *, uint64_t lease);
	/* Does the failure of this lease count?  If not, the lease is over. */
	bool (*counts)(struct coord *, struct member *, uint64_t lease);
	/* Forget all that a worker, which is lost, had. */
	void (*lose)(struct coord *, const struct member *);
	/* Does the worker with this lease wait until other workers have done
	   theirs? */
	bool (*waits)(const struct coord *, const struct leased *);

	/* Are steps rounds, of which one at a time ends, on all servers? */
	bool (*rounds)(const struct coord *);
	/* Have servers commit the first round, if it is whole; is a commit
	   under way? */
	void (*commit)(struct coord *);
	bool (*committing)(const struct coord *);
	/* Will a step end without another lease? */
	bool (*running)(const struct coord *);
	/* Is a step leased, or a round whole or being committed? */
	bool (*busy)(const struct coord *);

	/* Give up all steps under way. */
	void (*give_up)(struct coord *);
	/* A new term begins, or leasing begins anew, and all leases have been
	   taken back: forget them, but for a round that servers may have
	   committed. */
	void (*reset)(struct coord *);
	/* The new term has begun; true: COMMIT of such a round was sent again,
	   and the round is to end first.  go_back() comes before, if servers
	   have gone back to a checkpoint: there is nothing to commit then. */
	bool (*resume)(struct coord *);
	void (*go_back)(struct coord *);

	/* How often a step, or a replica, was leased again. */
	uint64_t (*retried)(const struct coord *);
};

extern const struct scheduler scheduler_async, scheduler_sync;

#endif
