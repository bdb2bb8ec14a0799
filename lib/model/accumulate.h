/*
 * accumulate - several batches in one step.
 *
 * The step pulls the rows of all its batches at once, and pushes one gradient.
 * In between each batch is computed by itself, as if it were the whole step:
 * with the rows that it needs, and regularized, normalized and clipped alone.
 * The gradients are added in a binary tree: node (k, a), where a is a multiple
 * of 2^k, is the sum of its two halves; a batch that is missing, or does not
 * have a row, is left out of the sum (see tensor/tree_sum.h).
 * A variable with a "local" line has no such sum: each batch trains a copy of
 * it (see local_steps).
 */
#ifndef PS_ACCUMULATE_H
#define PS_ACCUMULATE_H

#include "model/compute.h"

struct accumulator;

/*
 * Return a new accumulator, which the caller frees.  The arguments are
 * borrowed; see compute_new() and compute_share().
 */
struct accumulator *accumulator_new(const struct model *,
				    const struct externals *, struct crew *);
void accumulator_free(struct accumulator *);

struct accumulation {
	const struct batch *batch;	/* of the whole step: the one that
					   compute_begin() was given */
	size_t size;		/* examples of each batch; the last may have
				   fewer */
	uint64_t seed, first;	/* batch k draws from
				   seed ^ (first + k) << 40 */
	uint64_t step;		/* its number: see local_steps_begin() */
};

/*
 * Do what compute_train() and compute_clip() do, for each batch of the step,
 * and set the gradient and the loss of a compute whose values have been pulled.
 * Metrics are added to state, unless it is NULL.  Return 0; or -1 as
 * compute_check() if the loss or the gradient of a batch is not finite, or a
 * layer failed.
 */
int accumulate_train(struct accumulator *, struct compute *,
		     const struct accumulation *, struct metric_state *,
		     struct fail *);

#endif
