/*
 * evaluation - score batches of examples with a model's values.
 *
 * Where the values come from is the caller's affair: a client pulls them, or
 * a checkpoint is read.
 *
 *	evaluation_begin(e, batch)	what does the batch need?
 *	... fill e->compute's values ...
 *	evaluation_end(e)		add it up
 */
#ifndef PS_EVALUATION_H
#define PS_EVALUATION_H

#include "model/compute.h"
#include "wire/result.h"

struct evaluation {
	struct compute *compute;
	const struct metric *metric;	/* of the model */
	size_t metrics;
	struct metric_state state[RESULT_METRICS];
	uint64_t examples;
	double loss;			/* summed */
	struct noes noes;		/* of the labels */
};

/* Both are borrowed; see compute_new(). */
void evaluation_open(struct evaluation *, const struct model *,
		     const struct externals *);
void evaluation_close(struct evaluation *);
void evaluation_reset(struct evaluation *);

/* The batch is borrowed until evaluation_end(). */
void evaluation_begin(struct evaluation *, struct batch *);

/*
 * Labelled: add loss and metrics; else only predict.  -1: an external layer
 * failed, see struct externals.
 */
int evaluation_end(struct evaluation *, bool labelled, struct fail *);

/* All of it as a result, and the scores that go with it. */
void evaluation_result(const struct evaluation *, struct result *,
		       const struct metric_state **scores);

#endif
