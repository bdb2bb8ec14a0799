/*
 * apply - run an optimizer on many floats or rows at once.
 *
 * Everything that is to be done to a float is done while it is in the cache:
 * gradients are divided by the number of examples as the optimizer reads them,
 * and where from and to differ, a block is copied just before the optimizer
 * changes it.  A gradient may lie at any address, as in a frame.  The caller
 * must have checked that it is finite (kernel_finite()).
 */
#ifndef PS_APPLY_H
#define PS_APPLY_H

#include "tensor/optimizer.h"
#include "tensor/row_set.h"

struct apply {
	const struct optimizer *optimizer;
	float learning_rate;
	uint64_t t;		/* as in struct update */
	float examples;		/* that the gradients are sums over */
};

/*
 * Change n values that lie together and have n floats of each slot behind them.
 * They are read at from and written to to, which may be the same array; the
 * gradient has n floats.
 */
void apply_all(const struct apply *, const float *from, float *to,
	       const void *gradient, size_t n);

/*
 * Ask the memory for width floats that will be written soon.  Of a long row
 * only the first 256 bytes are asked for: the processor notices the sequence
 * and fetches the others itself.
 */
static inline void
apply_fetch(const void *from, size_t width)
{
	const char *first = from;
	const char *last = first + width * sizeof(float) - 1;

	__builtin_prefetch(first, 1);
	if (width == 1)
		return;
	for (const char *at = first + 64 - ((uintptr_t)first & 63);
	     at <= last && at < first + 256; at += 64)
		__builtin_prefetch(at, 1);
}

/*
 * Change rows whose slot s lies (1 + s) * stride floats behind their values.
 * The gradient has p.count * p.width floats, row by row.
 */
void apply_rows(const struct apply *, struct row_set, size_t stride,
		const void *gradient);

#endif
