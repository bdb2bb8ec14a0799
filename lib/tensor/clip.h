/*
 * clip - bound gradients by value, by norm, by the norm of all together.
 *
 * Keras's clipvalue, clipnorm and global_clipnorm, in its order: of the three
 * an optimizer has at most one.  What is clipped is the mean gradient of the
 * batch; the arrays hold sums over examples and are scaled in place.  A norm
 * is the root of the sum of row sums in row order, in double, so that it does
 * not depend on how the rows are spread over servers.
 */
#ifndef PS_CLIP_H
#define PS_CLIP_H

#include "tensor/variable.h"

/* The gradient of a variable, or of the rows of a table that a batch met. */
struct gradient {
	const struct variable *variable;
	float *sum;		/* rows x width, summed over examples */
	size_t rows, width;
};

void clip_gradients(struct gradient *, size_t count, size_t examples);

#endif
