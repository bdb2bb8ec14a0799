/*
 * kernels - the arithmetic of layers on plain arrays of floats, row-major.
 *
 * An array that is written does not overlap one that is read.  n is the number
 * of elements of each array, if nothing else is said.
 */
#ifndef PS_KERNELS_H
#define PS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Set c[m][n] = a b, or c + a b if add.  a is [m][k], or [k][m] if it is
 * transposed; b is [k][n], or [n][k] if it is transposed.  Each of m, n and k
 * is at most INT_MAX.  The product is CBLAS's, in a file that is linked only
 * with a program that calls kernel_one_thread(); in another program kernel_gemm
 * is NULL.
 */
struct gemm {
	size_t m, n, k;
	bool transpose_a, transpose_b, add;
};
void kernel_gemm(struct gemm, const float *a, const float *b, float *c)
	__attribute__((weak));

/* Compute the same by three loops, with sums in double precision, for tests. */
void kernel_gemm_naive(struct gemm, const float *a, const float *b, float *c);

void kernel_add(float *y, const float *x, size_t n);		/* y += x */
void kernel_add_loose(float *y, const void *x, size_t n);	/* x at any
								   address */
/* y = a + b */
void kernel_add_two(float *y, const float *a, const float *b, size_t n);
void kernel_axpy(float *y, float a, const float *x, size_t n);	/* y += a x */
/*
 * Set each of the rows of y, of n floats, to a copy of row, or to 0 if row is
 * NULL.
 */
void kernel_fill_rows(float *y, const float *row, size_t rows, size_t n);
/* sum[n] += the sum of the rows x[rows][n], added up in double precision. */
void kernel_add_rows(float *sum, const float *x, size_t rows, size_t n);
void kernel_multiply(float *y, const float *x, size_t n);	/* y *= x */
/* y += a b, element by element. */
void kernel_add_product(float *y, const float *a, const float *b, size_t n);
/* Return the dot product, added up in double precision. */
double kernel_dot(const float *x, const float *y, size_t n);

/*
 * Restrict the library behind CBLAS to the calling thread, if it has threads
 * (OpenBLAS).  A process is one unit of work here, and sums must not depend on
 * the number of cores.
 */
void kernel_one_thread(void);

/* Return whether none of n floats, at any address, is an infinity or a NaN. */
bool kernel_finite(const void *, size_t n);
/*
 * Return the largest absolute value of n floats at any address.  A NaN counts
 * as larger than an infinity, and an infinity as larger than all numbers.
 */
float kernel_largest(const void *, size_t n);

/*
 * A bfloat16 is the high half of a float: the sign, the exponent and 8 bits of
 * precision.  The conversion from float rounds to the nearest, of two equally
 * near to the even one; a float beyond the largest bfloat16 becomes an
 * infinity, and a NaN a quiet NaN.  The conversion to float is exact.  A const
 * void * may be any address.
 */
void kernel_to_bfloat16(uint16_t *, const float *, size_t n);
void kernel_from_bfloat16(float *, const void *, size_t n);
void kernel_add_bfloat16(float *, const void *, size_t n);	/* y += x */
bool kernel_finite_bfloat16(const void *, size_t n);

/*
 * Return the scale of a block of 8-bit numbers, which stand for -127 to 127
 * times the scale; largest is the largest absolute value in the block.  The
 * scale is the smallest bfloat16 by which no number of the block exceeds 127;
 * or 0, and all numbers become 0, if largest is smaller than a normal float.  A
 * denormal number always becomes 0.
 */
float kernel_int8_scale(float largest);

/*
 * Round each x / scale to the nearest whole number, of two equally near to the
 * even one.
 */
void kernel_to_int8(int8_t *, const float *, size_t n, float scale);
/*
 * Round each x / scale to one of the two whole numbers beside it, at random:
 * with the probability that makes the expected result x / scale.  The random
 * number of x[i] depends on key, which is the block's, and on first + i, its
 * index in the block.
 */
void kernel_draw_int8(int8_t *, const float *, size_t n, float scale,
		      uint64_t key, size_t first);
/* y = x scale, and y += x scale. */
void kernel_from_int8(float *, const int8_t *, size_t n, float scale);
void kernel_add_int8(float *, const int8_t *, size_t n, float scale);

/* true: each number is +0; -0 is not. */
bool kernel_is_zero(const float *, size_t n);

/*
 * The mean of absolute values.  Number i is added in double precision to sum
 * i modulo 8, and the sums are added in order.  A number below 2^-126 counts as
 * 0, and so does the mean.
 */
float kernel_mean_absolute(const float *, size_t n);

/* The sign bits of n floats, eight a byte, the lowest bit first; the last byte
   is padded with zeros. */
void kernel_to_signs(void *, const float *, size_t n);
/* y += scale, each with its sign of those. */
void kernel_add_signs(float *y, const void *, size_t n, float scale);

/* A number that orders floats by absolute value: 0 for +0 alone, 1 for -0. */
static inline uint32_t
kernel_magnitude(float x)
{
	uint32_t bits, size;

	memcpy(&bits, &x, sizeof(bits));
	size = bits & 0x7fffffff;
	return size > bits >> 31 ? size : bits >> 31;
}

size_t kernel_count_reaching(const float *, size_t n, uint32_t magnitude);
/* A magnitude, not 0, that rank numbers reach; if several are equal, or fewer
   are not +0, that of number rank in their order, or 1. */
uint32_t kernel_rank(const float *, size_t n, size_t rank);

#endif
