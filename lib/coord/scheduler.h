/*
 * scheduler - how steps are dealt out to workers: each is one worker's
 * (scheduler_async, also for ssp, which is a bound of the queue), or all have a
 * replica of it (scheduler_sync).  coord.c chooses one; all others that ask for
 * steps, or tell what became of leases, go through it.
 */
#ifndef PS_SCHEDULER_H
#define PS_SCHEDULER_H

#include "wire/result.h"

struct coord;
struct leased;
struct member;

/* What can be leased. */
struct lease_room {
	uint64_t limit;		/* no step at or over it is begun now */
	bool any;		/* any to anybody, whoever reads its stream */
	bool fresh;		/* not only what servers lack */
};

/* What a result is: of no attempt that counts; a part of its step; or all. */
enum taken { TAKEN_NOT, TAKEN_PART, TAKEN_STEP };

struct scheduler {
	/* Enough workers are there. */
	void (*begin)(struct coord *);
	/* Give out what there is room for; true: there may be more. */
	bool (*give)(struct coord *, const struct lease_room *);
	/* A result of a lease; or it has come back without one. */
	enum taken (*take)(struct coord *, struct member *, uint64_t lease,
			   const struct result *, const float *scores,
			   const unsigned char *positive);
	void (*give_back)(struct coord *, struct member *, uint64_t lease);
	/* Does it matter that it failed?  If not, it is over. */
	bool (*counts)(struct coord *, struct member *, uint64_t lease);
	/* A worker has nothing any more. */
	void (*lose)(struct coord *, const struct member *);
	/* Does a worker wait with it until others have come so far? */
	bool (*waits)(const struct coord *, const struct leased *);

	/* Steps are the work of all: one at a time ends, on all servers. */
	bool (*rounds)(const struct coord *);
	/* Have servers end one, if it is whole; are they at that? */
	void (*commit)(struct coord *);
	bool (*committing)(const struct coord *);
	/* Will something end without anything new being begun? */
	bool (*running)(const struct coord *);
	/* Is anything under way? */
	bool (*busy)(const struct coord *);

	/* All steps under way are given up. */
	void (*give_up)(struct coord *);
	/* A new term begins, or leasing anew: nobody has anything, but what
	   servers are committing they may have.  Leases are taken back
	   first. */
	void (*reset)(struct coord *);
	/* It has begun; true: that is asked for again, and is to end.  Before
	   that, if servers have gone back: there is nothing to commit. */
	bool (*go_on)(struct coord *);
	void (*go_back)(struct coord *);

	uint64_t (*retried)(const struct coord *);	/* attempts */
};

extern const struct scheduler scheduler_async, scheduler_sync;

#endif
