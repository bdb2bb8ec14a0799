/*
 * rerun_set - the steps that one server lacks, and who runs them again for it.
 *
 * A server that went back to a cut lacks what was done since.  These steps
 * have ended, and stay so; each is run once more, and pushed to that server
 * alone.  Its own low watermark moves with them.
 */
#ifndef PS_RERUN_SET_H
#define PS_RERUN_SET_H

#include "base/ranges.h"

struct rerun_set {		/* { 0 }: nothing is lacking */
	struct ranges todo;
	struct rerun_set_out {
		uint64_t step;
		const void *worker;
	} *out;			/* leased, in no order */
	size_t outs, room;
};

void rerun_set_release(struct rerun_set *);
bool rerun_set_idle(const struct rerun_set *);

/* All steps below this one have ended on the server, or need not. */
uint64_t rerun_set_watermark(const struct rerun_set *);	/* UINT64_MAX: idle */

/* Lease up to most steps in sequence, below limit; how many. */
size_t rerun_set_lease(struct rerun_set *, const void *worker, size_t most,
		       uint64_t limit, uint64_t *first);

void rerun_set_end(struct rerun_set *, uint64_t step);

/* All that a worker had comes back; NULL: what anybody had. */
void rerun_set_return(struct rerun_set *, const void *worker);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *rerun_set_check(const struct rerun_set *);

#endif
