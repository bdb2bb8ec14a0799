/*
 * npy - NumPy's array format: a header and raw numbers.
 *
 * Written: version 1.0, '<f4' or '<u8', C order.  Read: versions 1 to 3, C
 * order, any number type; npy_floats() makes floats of them, npy_integers()
 * integers of those that are.
 */
#ifndef PS_NPY_H
#define PS_NPY_H

#include "base/fail.h"
#include "tensor/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_HEADER_MAX	1024

/* The header of a '<f4' array; returns its size, a multiple of 64. */
size_t npy_header(struct shape, char header[NPY_HEADER_MAX]);

/* Of a '<u8' array. */
size_t npy_header_numbers(struct shape, char header[NPY_HEADER_MAX]);

struct npy {
	struct shape shape;
	char kind;		/* 'f', 'i', 'u', 'b' (bool); 'B' (bfloat16),
				   which NumPy itself does not have */
	size_t item;		/* bytes of one number */
	bool big;		/* big-endian */
	size_t offset;		/* where the numbers begin */
};

/*
 * Of the first bytes of a file, at least its whole header (NPY_HEADER_MAX are
 * enough for what NumPy writes).  Returns 0, or -1 (FAIL_DATA, no name in
 * front).  Fortran order and objects are refused; an array may have no rows.
 */
int npy_read(struct npy *, const void *bytes, size_t size, struct fail *);

/* n numbers as floats; 64-bit integers are rounded. */
void npy_floats(const struct npy *, const void *numbers, float *out,
		size_t n);

/* One number; floats of 8 bytes are not rounded, integers as above. */
double npy_double(const struct npy *, const void *number);

/* n integers, all of their bits; those below 0 as two's complement. */
void npy_integers(const struct npy *, const void *numbers, uint64_t *out,
		  size_t n);

#endif
