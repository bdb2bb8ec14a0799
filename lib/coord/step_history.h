/*
 * step_history - the terms of the steps since the newest checkpoint.
 *
 * It has all that is needed to run one of these steps again: which were given
 * up; and of the others the batch, learning rate, arguments and records.
 */
#ifndef PS_STEP_HISTORY_H
#define PS_STEP_HISTORY_H

#include "base/ranges.h"
#include "coord/call.h"
#include "coord/samplers.h"
#include "wire/pack.h"

struct step_history {
	struct ranges voided;		/* steps that were given up */
	struct asked_of {		/* terms of the steps from first on */
		uint64_t first, batch;	/* batch 0: the usual size */
		float learning_rate;	/* as in struct request */
		struct call *call;	/* held */
		struct places places;	/* of the first step; the later ones
					   have the places that follow */
	} *asked;			/* in the order of first */
	size_t count, room;
};

void step_history_release(struct step_history *);

/* Adds the terms of the steps from first on, which must be above all steps that
   were added before.  The terms are copied, and their call is held. */
void step_history_add(struct step_history *, const struct asked_of *);
/* Notes that these steps were given up. */
void step_history_void(struct step_history *, uint64_t first, uint64_t count);

/* Forgets all steps below this one. */
void step_history_forget(struct step_history *, uint64_t below);

/* Returns the terms of a step, whose first may be lower than the step; *until
   is the first step behind it that has other terms. */
struct asked_of step_history_of(const struct step_history *, uint64_t step,
				uint64_t *until);

/* Write all of it as bytes, and read it back into an empty history.  -1: the
   bytes are malformed, or a step is not below the limit. */
void step_history_write(const struct step_history *, struct pack *);
int step_history_read(struct step_history *, struct unpack *, uint64_t below);

#endif
