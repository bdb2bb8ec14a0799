/*
 * local_steps - copies of variables, which a worker trains during a step.
 *
 * A variable with a "local" line is pulled once for K batches.  Each batch is
 * computed with the copy, and the local line's optimizer changes the copy by
 * the gradient, as a server would.  At the end the step pushes
 * (start - end) times its examples: like a gradient, a sum over examples.
 */
#ifndef PS_LOCAL_STEPS_H
#define PS_LOCAL_STEPS_H

#include "model/compute.h"

struct local_steps;

/* The model is borrowed. */
struct local_steps *local_steps_new(const struct model *);
void local_steps_free(struct local_steps *);

/*
 * Begin step number: fill the copies with the values that were pulled for it.
 * Their slots get their first values; those of lines with slots=keep only if
 * local_steps_end() was not called for the step before.  Schedules give the
 * rate of this step, since they count pushes.
 */
void local_steps_begin(struct local_steps *, struct compute *step,
		       uint64_t number);

/* Return the copy of a variable as it is now: rows x width of the step. */
const float *local_steps_value(const struct local_steps *, size_t v);

/*
 * Change the copy of a variable by the gradient of a batch: clipped, and a sum
 * over so many examples.  Of a table the gradient has these rows, numbers among
 * the step's in rising order; of others row is NULL, and it has all.
 */
void local_steps_train(struct local_steps *, size_t v, const uint32_t *row,
		       size_t rows, const float *gradient, uint64_t examples);

/* Set the step's gradients to what the copies have come to. */
void local_steps_end(struct local_steps *, struct compute *step,
		     uint64_t examples);

#endif
