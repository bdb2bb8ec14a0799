/*
 * clip - bound gradients by value, by norm, or by the norm of all together.
 *
 * These are Keras's clipvalue, clipnorm and global_clipnorm; an optimizer has
 * at most one of the three.  The limit is for the mean gradient of the batch.
 * The arrays hold sums over its examples, and are scaled in place.  The square
 * of a norm is added up in double precision, row by row and then over the rows
 * in their order, so it does not depend on how the rows are spread over
 * servers.
 */
#ifndef PS_CLIP_H
#define PS_CLIP_H

#include "tensor/variable.h"

/*
 * The gradient of a variable; of a table only the rows that the batch looked
 * up.
 */
struct gradient {
	const struct variable *variable;
	float *sum;		/* rows x width, summed over examples */
	size_t rows, width;
};

/*
 * Clip the count gradients of a batch with this number of examples, each as its
 * variable's optimizer asks; global_clipnorm takes the norm over all variables
 * of the same optimizer.  A gradient without an optimizer stays as it is.
 */
void clip_gradients(struct gradient *, size_t count, size_t examples);

#endif
