/*
 * redo - the steps that one server lacks, and who runs them again for it.
 *
 * A server that went back to a cut lacks what was done since.  These steps
 * have ended, and stay so; each is run once more, and pushed to that server
 * alone.  Its own mark moves with them.
 */
#ifndef PS_REDO_H
#define PS_REDO_H

#include "base/ranges.h"

struct redo {			/* { 0 }: nothing is lacking */
	struct ranges todo;
	struct redo_out {
		uint64_t step;
		const void *worker;
	} *out;			/* leased, in no order */
	size_t outs, room;
};

void redo_release(struct redo *);
bool redo_idle(const struct redo *);

/* All steps below this one have ended on the server, or need not. */
uint64_t redo_mark(const struct redo *);	/* UINT64_MAX: idle */

/* Lease up to most steps in sequence, below limit; how many. */
size_t redo_lease(struct redo *, const void *worker, size_t most,
		  uint64_t limit, uint64_t *first);

void redo_end(struct redo *, uint64_t step);

/* All that a worker had comes back; NULL: what anybody had. */
void redo_return(struct redo *, const void *worker);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *redo_check(const struct redo *);

#endif
