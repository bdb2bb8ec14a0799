/*
 * evaluation - score batches of examples with a model's values.
 *
 * The caller gets the values: a client pulls them, or they are read from a
 * checkpoint.
 *
 *	evaluation_begin(e, batch)	finds what the batch needs
 *	... fill e->compute's values ...
 *	evaluation_end(e)		adds the batch's scores
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
	double loss;			/* summed over the examples */
	struct negative_labels negatives;	/* of the labels */
};

/* Both are borrowed; see compute_new(). */
void evaluation_open(struct evaluation *, const struct model *,
		     const struct externals *);
void evaluation_close(struct evaluation *);
/* Forgets all scores. */
void evaluation_reset(struct evaluation *);

/* Begins a batch, which is borrowed until evaluation_end(). */
void evaluation_begin(struct evaluation *, struct batch *);

/*
 * Computes the batch.  labelled: adds its loss and metrics; else only predicts.
 * -1: an external layer failed, see struct externals.
 */
int evaluation_end(struct evaluation *, bool labelled, struct fail *);
/* The same in two parts: only the first one may wait for a program. */
void evaluation_compute(struct evaluation *, bool labelled);
int evaluation_add(struct evaluation *, bool labelled, struct fail *);

/* Puts the result of all batches, and the metric's state that has their scores;
   *scores is borrowed, NULL if no metric keeps scores. */
void evaluation_result(const struct evaluation *, struct result *,
		       const struct metric_state **scores);

#endif
