/*
 * apply - let an optimizer loose on many floats or rows at once.
 *
 * All that happens to a float happens while it is in cache: gradients are
 * divided by the number of examples, the optimizer runs; where what is frozen
 * is copied first, a block at a time.  A gradient may lie at any address, as
 * it does in a frame.  That it is finite is to be seen before
 * (kernel_finite()).
 */
#ifndef PS_APPLY_H
#define PS_APPLY_H

#include "tensor/optimizer.h"
#include "tensor/row_set.h"

struct apply {
	const struct optimizer *optimizer;
	float learning_rate;
	uint64_t t;		/* as in struct update */
	float examples;		/* what the gradients are sums over */
};

/*
 * Floats that lie together: n values and behind them n of each slot.  They
 * are read at from and written to to, which may be the same.
 */
void apply_all(const struct apply *, const float *from, float *to,
	       const void *gradient, size_t n);

/*
 * Ask the memory for floats that will be wanted soon: of many the first lines,
 * the processor sees to the others.
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
 * Rows whose slot s lies (1 + s) * stride floats behind them.  Gradients lie
 * row by row.
 */
void apply_rows(const struct apply *, struct row_set, size_t stride,
		const void *gradient);

#endif
