/*
 * rerun_set - the steps that one server lacks, and who runs them again for it.
 *
 * A server that went back to a checkpoint lacks the steps that were done since.
 * These steps have ended, and stay ended; each is run once more and pushed to
 * that server alone, whose own low watermark rises with them.
 */
#ifndef PS_RERUN_SET_H
#define PS_RERUN_SET_H

#include "base/ranges.h"

struct rerun_set {		/* { 0 }: nothing is lacking */
	struct ranges todo;		/* steps that wait to be leased */
	struct rerun_set_out {
		uint64_t step;
		const void *worker;
	} *out;			/* leased, in no order */
	size_t outs, room;
};

void rerun_set_release(struct rerun_set *);
bool rerun_set_idle(const struct rerun_set *);

/* Returns the lowest step that the server lacks; UINT64_MAX: it lacks none. */
uint64_t rerun_set_watermark(const struct rerun_set *);

/* Leases up to most steps in sequence, all below limit, to a worker; *first is
   the first of them.  Returns how many, 0: none. */
size_t rerun_set_lease(struct rerun_set *, const void *worker, size_t most,
		       uint64_t limit, uint64_t *first);

/* The server has this step, which was leased. */
void rerun_set_end(struct rerun_set *, uint64_t step);

/* Takes back all steps that a worker (NULL: any worker) has, to be leased
   again. */
void rerun_set_return(struct rerun_set *, const void *worker);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *rerun_set_check(const struct rerun_set *);

#endif
