/*
 * few - copy and add rows that may be too short for a call to be worth it.
 *
 * The arrays that are read and written do not overlap. n is the number of
 * floats of each array.
 */
#ifndef PS_FEW_H
#define PS_FEW_H

#include "tensor/kernels.h"

#include <stddef.h>
#include <string.h>

#define FEW_FLOATS	16	/* rows up to this length are done inline */

static inline void
few_copy(float *restrict to, const float *restrict from, size_t n)
{
	if (n > FEW_FLOATS)
		memcpy(to, from, n * sizeof(*to));
	else
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
}

static inline void
few_add(float *restrict to, const float *restrict from, size_t n)
{
	if (n > FEW_FLOATS)
		kernel_add(to, from, n);
	else
		for (size_t i = 0; i < n; i++)
			to[i] += from[i];
}

static inline void
few_add_two(float *restrict to, const float *restrict a,
	    const float *restrict b, size_t n)
{
	if (n > FEW_FLOATS)
		kernel_add_two(to, a, b, n);
	else
		for (size_t i = 0; i < n; i++)
			to[i] = a[i] + b[i];
}

#endif
