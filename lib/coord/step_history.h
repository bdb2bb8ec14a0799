/*
 * step_history - what the steps since the newest checkpoint were.
 *
 * All that is needed to run one of them again: which were given up, what the
 * others were asked to be, and which records they read.
 */
#ifndef PS_STEP_HISTORY_H
#define PS_STEP_HISTORY_H

#include "base/ranges.h"
#include "coord/call.h"
#include "coord/samplers.h"
#include "wire/pack.h"

struct step_history {
	struct ranges voided;
	struct asked_of {		/* from this step on */
		uint64_t first, batch;	/* batch 0: the usual */
		float learning_rate;	/* as in struct request */
		struct call *call;	/* held */
		struct places places;	/* of the first, in the samplers; those
					   behind it have the next ones */
	} *asked;
	size_t count, room;
};

void step_history_release(struct step_history *);

/* New steps, each time behind all others; what is added is copied. */
void step_history_add(struct step_history *, const struct asked_of *);
void step_history_void(struct step_history *, uint64_t first, uint64_t count);

/* Nobody will ask for a step below this one any more. */
void step_history_forget(struct step_history *, uint64_t below);

/* What a step was, and the first step behind it that is another. */
struct asked_of step_history_of(const struct step_history *, uint64_t step,
				uint64_t *until);

/* All of it, as bytes; and back, into an empty one: -1: they make no sense. */
void step_history_write(const struct step_history *, struct pack *);
int step_history_read(struct step_history *, struct unpack *, uint64_t below);

#endif
