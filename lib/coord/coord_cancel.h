/*
 * coord_cancel - steps that are given up.
 */
#ifndef PS_COORD_CANCEL_H
#define PS_COORD_CANCEL_H

#include "coord/coord_private.h"

void cancel_init(struct coord *);
void cancel_release(struct coord *);
bool cancel_under_way(const struct coord *);	/* steps are given up */
bool cancel_is_quarantining(const struct coord *);	/* one is being set
							   aside */
/* Is that the step for which all others are given up? */
bool cancel_is_of(const struct coord *, uint64_t step);
/* A step has an error of its own making; and what the next join tells of it,
   or NULL. */
void cancel_fail(struct coord *, uint64_t step, const char *worker,
		 const struct fail *);
const char *cancel_error(const struct coord *);
void cancel_error_notified(struct coord *);
/* Give up every step under way: the servers first, then the queue. */
void cancel_begin(struct coord *);
/* A worker left without a word: what it had begun is waited for, a lease.  Or
   one hangs: it is waited for until it answers, but no longer than patience. */
void cancel_worker_died(struct coord *);
void cancel_worker_hangs(struct coord *);
/* Are there steps to be done before the rest is void? */
bool cancel_finishes(const struct coord *);
/* Tell the servers, if it is time to. */
void cancel_notify(struct coord *);
/* They refuse those steps from now on: say it. */
void cancel_done(struct coord *);
/*
 * When a new term has begun, which keeps out what was decided to be void.  No:
 * it was not yet, and what the term before may have pushed is to be done first.
 */
bool cancel_is_decided(const struct coord *);
/* One step more that is not worth its workers; and when they refuse it, which
   is what they were asked. */
void cancel_quarantine(struct coord *, uint64_t step);
bool cancel_is_answer(const struct coord *, const struct message *asked);
void cancel_quarantine_done(struct coord *);
/* Nothing more will be done: each request that waits is told. */
void cancel_give_up(struct coord *);
struct cancel_figures {
	uint64_t failed, aside;		/* steps, since we began */
};
struct cancel_figures cancel_figures(const struct coord *);
/* In the journal.  -1: it makes no sense. */
int cancel_read(struct coord *, struct unpack *);
void cancel_read_ended(struct coord *, uint64_t step);
void cancel_read_dropped(struct coord *);
/* All steps up to this one have a number. */
int cancel_number_up_to(struct coord *, uint64_t step);
void cancel_write_error(struct coord *);
int cancel_read_error(struct coord *, struct unpack *);
const char *cancel_check(const struct coord *);

#endif
