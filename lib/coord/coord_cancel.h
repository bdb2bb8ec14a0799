/*
 * coord_cancel - steps that are given up.
 */
#ifndef PS_COORD_CANCEL_H
#define PS_COORD_CANCEL_H

#include "coord/coord_private.h"

void cancel_init(struct coord *);
void cancel_release(struct coord *);
/* Are all steps under way being given up? */
bool cancel_under_way(const struct coord *);
/* Do servers not know yet of a step that is quarantined? */
bool cancel_is_quarantining(const struct coord *);
/* Is this the failed step for which all others are given up? */
bool cancel_is_of(const struct coord *, uint64_t step);
/* A step has failed with an error of its own, on this worker: keeps that for
   cancel_begin() and for the next join. */
void cancel_fail(struct coord *, uint64_t step, const char *worker,
		 const struct fail *);
/* Returns the error that the next join reports, or NULL; and: a join has
   reported it. */
const char *cancel_error(const struct coord *);
void cancel_error_notified(struct coord *);
/* Begins to give up every step under way: workers are told, then servers
   (cancel_notify()), then the queue (cancel_done()). */
void cancel_begin(struct coord *);
/* A worker died: for lease_ms the steps that it had begun wait for another
   worker to come.  Or one hangs: they wait for it for patience_ms. */
void cancel_worker_died(struct coord *);
void cancel_worker_hangs(struct coord *);
/* Are there steps to be done before the rest is given up? */
bool cancel_finishes(const struct coord *);
/* Sends VOID to the servers, if nothing that workers had begun is left. */
void cancel_notify(struct coord *);
/* The servers refuse the steps that are given up: drops these from the queue,
   and reports them. */
void cancel_done(struct coord *);
/*
 * A new term has begun while steps are being given up.  true: it was decided
 * which ones, and servers refuse them, for they are of an earlier term.  false:
 * it was not, and steps that may have been pushed are done first.
 */
bool cancel_is_decided(const struct coord *);
/* Quarantines a step under which too many workers have died: asks the servers
   to refuse it (VOID). */
void cancel_quarantine(struct coord *, uint64_t step);
/* Is this VOID, which servers have answered, that of the quarantined step? */
bool cancel_is_answer(const struct coord *, const struct message *asked);
/* The servers refuse the quarantined step: reports its error and ends it. */
void cancel_quarantine_done(struct coord *);
/* The run ends: gives up all requests that have not ended, and reports each. */
void cancel_give_up(struct coord *);
/* Steps that failed and steps that were quarantined, since this coordinator
   began. */
struct cancel_figures {
	uint64_t failed, aside;
};
struct cancel_figures cancel_figures(const struct coord *);
/* Reads a record of JOURNAL_VOID.  -1: it makes no sense. */
int cancel_read(struct coord *, struct unpack *);
/* The journal says that this step has ended; that what was given up has. */
void cancel_read_ended(struct coord *, uint64_t step);
void cancel_read_dropped(struct coord *);
/* Numbers all steps up to this one.  -1: the queue has no such steps. */
int cancel_number_up_to(struct coord *, uint64_t step);
/* The error for the next join, in the journal.  -1: the record makes no
   sense. */
void cancel_write_error(struct coord *);
int cancel_read_error(struct coord *, struct unpack *);
const char *cancel_check(const struct coord *);

#endif
