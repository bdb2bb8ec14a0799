/*
 * accumulate - several batches in one step.
 *
 * The step pulls the rows of all its batches at once, and pushes one gradient.
 * In between each batch is computed by itself, as if it was all of the step:
 * with the rows that it needs, regularized, normalized and clipped as one.
 * The gradients are added in a binary tree: node (k, a), where a is a multiple
 * of 2^k, is the sum of its two halves, and batches that are not there, or do
 * not have a row, are passed over.
 */
#ifndef PS_ACCUMULATE_H
#define PS_ACCUMULATE_H

#include "model/compute.h"

struct accumulator;

/* All are borrowed; see compute_new() and compute_share(). */
struct accumulator *accumulator_new(const struct model *,
				    const struct externals *, struct crew *);
void accumulator_free(struct accumulator *);

struct accumulation {
	const struct batch *batch;	/* of the step: the one that the
					   compute has begun with */
	size_t size;		/* examples of a batch; the last may have
				   fewer */
	uint64_t seed, first;	/* batch k draws from
					   seed ^ (first + k) << 40 */
};

/*
 * As compute_train() and compute_clip(), of all batches, into a compute whose
 * values have been pulled: its gradient and loss are those of the step.  -1:
 * one of them is not finite, or a layer failed; as of compute_check().
 */
int accumulate_train(struct accumulator *, struct compute *,
		     const struct accumulation *, struct metric_state *,
		     struct fail *);

#endif
