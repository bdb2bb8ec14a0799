/*
 * history - what the steps since the newest checkpoint were.
 *
 * All that is needed to run one of them again: which were given up, what the
 * others were asked to be, and which records they read.
 */
#ifndef PS_HISTORY_H
#define PS_HISTORY_H

#include "base/ranges.h"
#include "coord/call.h"

struct history {
	struct ranges voided;
	struct asked_of {		/* from this step on */
		uint64_t first, batch;	/* batch 0: the usual */
		float learning_rate;	/* as in struct request */
		struct call *call;	/* held */
		uint64_t place;		/* of the first, in the ledger; those
					   behind it have the next ones */
	} *asked;
	size_t count, room;
};

void history_release(struct history *);

/* New steps, each time behind all others; what is added is copied. */
void history_add(struct history *, const struct asked_of *);
void history_void(struct history *, uint64_t first, uint64_t count);

/* Nobody will ask for a step below this one any more. */
void history_forget(struct history *, uint64_t below);

/* What a step was, and the first step behind it that is another. */
struct asked_of history_of(const struct history *, uint64_t step,
			   uint64_t *until);

#endif
