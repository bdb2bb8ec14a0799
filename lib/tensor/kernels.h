/*
 * kernels - the arithmetic of layers on plain arrays of floats, row-major.
 *
 * Arrays that are written do not overlap those that are read.
 */
#ifndef PS_KERNELS_H
#define PS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * c[m][n] = a b, or c + a b if add.  a is [m][k], b is [k][n]; one that is
 * transposed lies as [k][m] or [n][k].  By CBLAS, which comes with
 * kernel_one_thread(): a program that never calls that has no product.
 */
struct gemm {
	size_t m, n, k;
	bool transpose_a, transpose_b, add;
};
void kernel_gemm(struct gemm, const float *a, const float *b, float *c)
	__attribute__((weak));

/* The same by three loops, for those who want to check. */
void kernel_gemm_naive(struct gemm, const float *a, const float *b, float *c);

void kernel_add(float *y, const float *x, size_t n);		/* y += x */
void kernel_add_loose(float *y, const void *x, size_t n);	/* from any
								   address */
/* y = a + b */
void kernel_add_two(float *y, const float *a, const float *b, size_t n);
void kernel_axpy(float *y, float a, const float *x, size_t n);	/* y += a x */
/* Each of the rows, of n floats, is that one, or zeros where it is NULL. */
void kernel_fill_rows(float *y, const float *row, size_t rows, size_t n);
/* sum += what the rows add up to in double precision, however many. */
void kernel_add_rows(float *sum, const float *x, size_t rows, size_t n);
void kernel_multiply(float *y, const float *x, size_t n);	/* y *= x */
/* y += a b, element by element. */
void kernel_add_product(float *y, const float *a, const float *b, size_t n);
double kernel_dot(const float *x, const float *y, size_t n);

/*
 * Keep the library behind CBLAS to the calling thread, where it has a say in
 * it: a process is one unit of work here, and sums must not depend on how
 * many cores there are.
 */
void kernel_one_thread(void);

/* Of n floats at any address: no infinity, no NaN. */
bool kernel_finite(const void *, size_t n);
/* The largest, without its sign: a NaN or an infinity is larger than all. */
float kernel_largest(const void *, size_t n);

/*
 * A bfloat16 is the high half of a float: its exponent, and 8 bits of what it
 * is.  To the nearest, of two as near the even one; beyond the largest is an
 * infinity, a NaN is a quiet NaN.  From any address, and exact.
 */
void kernel_to_bfloat16(uint16_t *, const float *, size_t n);
void kernel_from_bfloat16(float *, const void *, size_t n);
void kernel_add_bfloat16(float *, const void *, size_t n);	/* y += x */
bool kernel_finite_bfloat16(const void *, size_t n);

/*
 * Eight bits a number: -127 to 127 times a scale.  That of a block whose
 * largest number this is, without its sign: a bfloat16, of the smallest one
 * that none of its numbers is too large for; 0 if no number of it is normal,
 * and a number that is not counts as 0.
 */
float kernel_int8_scale(float largest);

/* To the nearest, of two as near the even one. */
void kernel_to_int8(int8_t *, const float *, size_t n, float scale);
/*
 * To one of both neighbours, by chance: the nearer one is the likelier.  Number
 * i of them is number first + i of its block, of which the key is.
 */
void kernel_draw_int8(int8_t *, const float *, size_t n, float scale,
		      uint64_t key, size_t first);
void kernel_from_int8(float *, const int8_t *, size_t n, float scale);
void kernel_add_int8(float *, const int8_t *, size_t n, float scale);

#endif
