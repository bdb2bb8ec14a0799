/*
 * local_steps - copies of a step's variables, which a worker trains itself.
 *
 * A variable with a "local" line is pulled once for K batches.  Each of them is
 * computed with the copy, whose optimizer takes the gradient as a server's
 * would.  In the end the step pushes (start - end) times its examples: as a
 * gradient it is, as all are, a sum over them.
 */
#ifndef PS_LOCAL_STEPS_H
#define PS_LOCAL_STEPS_H

#include "model/compute.h"

struct local_steps;

struct local_steps *local_steps_new(const struct model *);
void local_steps_free(struct local_steps *);

/*
 * Copies are what has been pulled for the step.  Slots begin anew, but for
 * those that are kept of a step that local_steps_end() was called for.  Rates
 * of schedules are those of this step: they count pushes.
 */
void local_steps_begin(struct local_steps *, struct compute *step,
		       uint64_t number);

/* The copy of a variable that has one, as it is now: rows of the step. */
const float *local_steps_value(const struct local_steps *, size_t v);

/*
 * Train it with the gradient of a batch, clipped: a sum over so many examples,
 * of all rows (NULL) or, of a table, of those that stand there among the
 * step's, in order.
 */
void local_steps_train(struct local_steps *, size_t v, const uint32_t *row,
		       size_t rows, const float *gradient, uint64_t examples);

/* The gradients of the step are what the copies have come to. */
void local_steps_end(struct local_steps *, struct compute *step,
		     uint64_t examples);

#endif
