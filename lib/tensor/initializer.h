/*
 * initializer - the first values of a variable.
 *
 * A function of (seed, variable, element), so that any part can be computed
 * anywhere: no central copy, the same for any number of servers.
 */
#ifndef PS_INITIALIZER_H
#define PS_INITIALIZER_H

#include "base/fail.h"
#include "base/settings.h"
#include "tensor/shape.h"

#include <stdbool.h>

struct initializer_kind;

struct initializer {
	const struct initializer_kind *kind;
	float a, b;	/* by kind: minval and maxval, mean and stddev, value */
};

/*
 * By Keras's name, some with numbers:
 *
 *	glorot_uniform he_uniform lecun_uniform	also with _normal
 *	random_uniform[:MIN:MAX]		-.05 and .05
 *	random_normal[:[MEAN:]STDDEV]		0 and .05
 *	truncated_normal[:[MEAN:]STDDEV]	0 and .05; cut at 2 STDDEV
 *	zeros ones constant[:VALUE]
 */
int initializer_parse(struct initializer *, const char *text, struct fail *);

/* Does it go by the fans, and so by how many rows there are? */
bool initializer_has_fan(const struct initializer *);

/* Are all values 0? */
bool initializer_zeros(const struct initializer *);

/*
 * Elements first .. first + n - 1, in row-major order, of a variable called
 * name of the given full shape.  Fans are computed from the full shape, as
 * Keras's compute_fans does.
 */
void initializer_fill(const struct initializer *, const char *name,
		      struct shape, uint64_t seed, size_t first,
		      float *values, size_t n);

#endif
