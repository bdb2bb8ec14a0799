/*
 * npy - reads and writes NumPy's array format: a header and raw numbers.
 *
 * Headers are written in version 1.0, for '<f4' or '<u8' in C order.  Versions
 * 1 to 3 are read, in C order, with integers, floats of up to 8 bytes, or bool;
 * npy_floats() converts these to floats, npy_integers() integers to uint64_t.
 */
#ifndef PS_NPY_H
#define PS_NPY_H

#include "base/fail.h"
#include "tensor/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_HEADER_MAX	1024

/* Write the header of a '<f4' array.  Return its size, a multiple of 64. */
size_t npy_header(struct shape, char header[NPY_HEADER_MAX]);

/* The same for a '<u8' array. */
size_t npy_header_numbers(struct shape, char header[NPY_HEADER_MAX]);

struct npy {
	struct shape shape;
	char kind;		/* 'f', 'i', 'u', 'b' (bool); 'B' (bfloat16),
				   which NumPy itself does not have */
	size_t item;		/* bytes of one number */
	bool big;		/* big-endian */
	size_t offset;		/* bytes before the first number */
};

/*
 * Read a header from the first size bytes of a file, which must include the
 * whole header; NPY_HEADER_MAX bytes are enough for headers that NumPy writes.
 * Return 0, or -1 (FAIL_DATA, with no name in front).  Fortran order and
 * objects are refused; an array may have no rows.
 */
int npy_read(struct npy *, const void *bytes, size_t size, struct fail *);

/* Convert n numbers to floats; integers and doubles are rounded. */
void npy_floats(const struct npy *, const void *numbers, float *out,
		size_t n);

/* Return one number; a float of 8 bytes is not rounded, an integer is rounded
   to a float. */
double npy_double(const struct npy *, const void *number);

/* Convert n integers to 64 bits; numbers below 0 are in two's complement. */
void npy_integers(const struct npy *, const void *numbers, uint64_t *out,
		  size_t n);

#endif
