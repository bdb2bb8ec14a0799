/*
 * initializer - the first values of a variable.
 *
 * A value is a function of the seed, the variable's name and the index of the
 * element.  So each server computes its own part, and the values are the same
 * for any number of servers.
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
	float a, b;	/* minval and maxval, or mean and stddev, or the value,
			   by kind */
};

/*
 * Read an initializer by Keras's name, some with numbers; the defaults are on
 * the right:
 *
 *	glorot_uniform he_uniform lecun_uniform	also with _normal
 *	random_uniform[:MIN:MAX]		-.05 and .05
 *	random_normal[:[MEAN:]STDDEV]		0 and .05
 *	truncated_normal[:[MEAN:]STDDEV]	0 and .05; cut at 2 STDDEV
 *	zeros ones constant[:VALUE]
 *
 * Return 0; or -1 with FAIL_CONFIG, and leave the initializer as it was.
 */
int initializer_parse(struct initializer *, const char *text, struct fail *);

/*
 * Return whether the values depend on the fans of the shape, and so on the
 * number of rows.
 */
bool initializer_has_fan(const struct initializer *);

/* Return whether all values are 0. */
bool initializer_zeros(const struct initializer *);

/*
 * Compute the elements first to first + n - 1, in row-major order, of the
 * variable with this name, full shape and seed.  The fans are those of the full
 * shape, as in Keras's compute_fans.
 */
void initializer_fill(const struct initializer *, const char *name,
		      struct shape, uint64_t seed, size_t first,
		      float *values, size_t n);

#endif
