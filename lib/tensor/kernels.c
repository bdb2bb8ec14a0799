#include "tensor/kernels.h"

#include "tensor/target_clones.h"

#include <float.h>
#include <math.h>
#include <string.h>

void
kernel_gemm_naive(struct gemm g, const float *a, const float *b, float *c)
{
	for (size_t i = 0; i < g.m; i++)
		for (size_t j = 0; j < g.n; j++) {
			double sum = g.add ? (double)c[i * g.n + j] : 0;

			for (size_t k = 0; k < g.k; k++)
				sum += (double)a[g.transpose_a ?
						 k * g.m + i : i * g.k + k] *
				       (double)b[g.transpose_b ?
						 j * g.k + k : k * g.n + j];
			c[i * g.n + j] = (float)sum;
		}
}

TARGET_CLONES void
kernel_add(float *restrict y, const float *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] += x[i];
}

TARGET_CLONES void
kernel_add_two(float *restrict y, const float *restrict a,
	       const float *restrict b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = a[i] + b[i];
}

void
kernel_fill_rows(float *y, const float *row, size_t rows, size_t n)
{
	if (!row)
		memset(y, 0, rows * n * sizeof(float));
	else
		for (size_t i = 0; i < rows; i++)
			memcpy(y + i * n, row, n * sizeof(float));
}

#define SUMS	64	/* sums at a time: they stay in the first-level cache */

/*
 * Add the n numbers of each row to sum[]; n is at most SUMS, and a row begins
 * stride floats behind the one before it.
 */
static TARGET_CLONES void
add_up(double *restrict sum, const float *restrict x, size_t rows,
       size_t stride, size_t n)
{
	for (size_t i = 0; i < rows; i++, x += stride)
		for (size_t k = 0; k < n; k++)
			sum[k] += (double)x[k];
}

/*
 * Take several short rows as one long one, so that the processor need not wait
 * for the one sum it has just changed.
 */
static void
add_short_rows(float *sum, const float *x, size_t rows, size_t n)
{
	const size_t several = SUMS / n, wide = several * n;
	double all[SUMS] = { 0 };

	add_up(all, x, rows / several, wide, wide);
	add_up(all, x + rows / several * wide, rows % several, n, n);
	for (size_t k = n; k < wide; k++)
		all[k % n] += all[k];
	for (size_t k = 0; k < n; k++)
		sum[k] += (float)all[k];
}

void
kernel_add_rows(float *sum, const float *x, size_t rows, size_t n)
{
	size_t some;

	if (n <= SUMS / 2) {
		if (n > 0)
			add_short_rows(sum, x, rows, n);
		return;
	}
	for (size_t at = 0; at < n; at += some) {
		double all[SUMS] = { 0 };

		some = n - at < SUMS ? n - at : SUMS;
		add_up(all, x + at, rows, n, some);
		for (size_t k = 0; k < some; k++)
			sum[at + k] += (float)all[k];
	}
}

TARGET_CLONES void
kernel_axpy(float *restrict y, float a, const float *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

TARGET_CLONES void
kernel_multiply(float *restrict y, const float *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] *= x[i];
}

TARGET_CLONES void
kernel_add_product(float *restrict y, const float *restrict a,
		   const float *restrict b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] += a[i] * b[i];
}

double
kernel_dot(const float *x, const float *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)y[i];
	return sum;
}

/*
 * There is no early return, because a loop without one is vectorized.  A float
 * whose exponent bits are all 1 is an infinity or a NaN.
 */
TARGET_CLONES bool
kernel_finite(const void *x, size_t n)
{
	const uint32_t exponent = 0x7f800000;
	const char *at = x;
	uint32_t odd = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, at + i * sizeof(bits), sizeof(bits));
		odd |= (bits & exponent) == exponent;
	}
	return !odd;
}

/* Without the sign, floats are in the order of their bits as integers. */
TARGET_CLONES float
kernel_largest(const void *x, size_t n)
{
	const char *at = x;
	int32_t most = 0;
	float largest;

	for (size_t i = 0; i < n; i++) {
		int32_t bits;

		memcpy(&bits, at + i * sizeof(bits), sizeof(bits));
		bits &= 0x7fffffff;
		most = bits > most ? bits : most;
	}
	memcpy(&largest, &most, sizeof(largest));
	return largest;
}

/*
 * The number that is added carries into the upper half where the float is to be
 * rounded up. In a NaN the carry could reach the sign, so a NaN is not rounded.
 */
TARGET_CLONES void
kernel_to_bfloat16(uint16_t *restrict y, const float *restrict x, size_t n)
{
	const uint32_t infinity = 0x7f800000, quiet = 0x00400000;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits, rounded;

		memcpy(&bits, x + i, sizeof(bits));
		rounded = bits + 0x7fff + (bits >> 16 & 1);
		rounded = (bits & 0x7fffffff) > infinity ? bits | quiet :
			rounded;
		y[i] = (uint16_t)(rounded >> 16);
	}
}

TARGET_CLONES void
kernel_from_bfloat16(float *restrict y, const void *restrict x, size_t n)
{
	const char *at = x;

	for (size_t i = 0; i < n; i++) {
		uint16_t half;
		uint32_t bits;

		memcpy(&half, at + i * sizeof(half), sizeof(half));
		bits = (uint32_t)half << 16;
		memcpy(y + i, &bits, sizeof(bits));
	}
}

/* ---- sums of bfloat16 and int8 ---- */

TARGET_CLONES void
kernel_add_loose(float *restrict y, const void *restrict x, size_t n)
{
	const char *at = x;

	for (size_t i = 0; i < n; i++) {
		float f;

		memcpy(&f, at + i * sizeof(f), sizeof(f));
		y[i] += f;
	}
}

TARGET_CLONES void
kernel_add_bfloat16(float *restrict y, const void *restrict x, size_t n)
{
	const char *at = x;

	for (size_t i = 0; i < n; i++) {
		uint16_t half;
		uint32_t bits;
		float f;

		memcpy(&half, at + i * sizeof(half), sizeof(half));
		bits = (uint32_t)half << 16;
		memcpy(&f, &bits, sizeof(f));
		y[i] += f;
	}
}

TARGET_CLONES bool
kernel_finite_bfloat16(const void *x, size_t n)
{
	const uint16_t exponent = 0x7f80;
	const char *at = x;
	uint16_t odd = 0;

	for (size_t i = 0; i < n; i++) {
		uint16_t half;

		memcpy(&half, at + i * sizeof(half), sizeof(half));
		odd |= (half & exponent) == exponent;
	}
	return !odd;
}

float
kernel_int8_scale(float largest)
{
	const float part = largest / 127;
	float scale = part < FLT_MIN ? FLT_MIN : part;
	uint32_t bits;

	if (largest < FLT_MIN)
		return 0;
	memcpy(&bits, &scale, sizeof(bits));
	bits = (bits + 0xffff) & 0xffff0000;
	memcpy(&scale, &bits, sizeof(scale));
	return scale;
}

/*
 * Return x / scale, kept between -127 and 127 though the quotient was rounded.
 */
static inline float
scale_clamped(float x, float scale)
{
	const float y = fabsf(x) < FLT_MIN ? 0 : x / scale;
	const float above = y < -127 ? -127 : y;

	return above > 127 ? 127 : above;
}

/*
 * Adding 1.5 * 2^23 rounds a float to a whole number, in the current rounding
 * mode: to the nearest, ties to even.
 */
TARGET_CLONES void
kernel_to_int8(int8_t *restrict to, const float *restrict x, size_t n,
	       float scale)
{
	const float round = 0x1.8p23f;

	for (size_t i = 0; i < n; i++)
		to[i] = scale > 0 ?
			(int8_t)(scale_clamped(x[i], scale) + round - round) :
				0;
}

/*
 * The random number is one of the 2^23 midpoints of steps of 2^-23 from 0 to 1.
 * The result is the upper neighbour where the random number is below the
 * fraction of y, so with a probability of that fraction.  The bits are those of
 * MurmurHash3's finalizer, applied to a counter.
 */
TARGET_CLONES void
kernel_draw_int8(int8_t *restrict to, const float *restrict x, size_t n,
		 float scale, uint64_t key, size_t first)
{
	const uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);

	if (!(scale > 0)) {
		memset(to, 0, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const float y = scale_clamped(x[i], scale);
		int32_t q = (int32_t)y;
		uint32_t h = low + (uint32_t)(first + i) * 0x9e3779b9u;

		h = (h ^ h >> 16) * 0x85ebca6bu ^ high;
		h = (h ^ h >> 13) * 0xc2b2ae35u;
		h ^= h >> 16;
		q -= y < (float)q;
		q += ((float)(h >> 9) + 0.5f) * 0x1p-23f < y - (float)q;
		to[i] = (int8_t)q;
	}
}

TARGET_CLONES void
kernel_from_int8(float *restrict y, const int8_t *restrict x, size_t n,
		 float scale)
{
	for (size_t i = 0; i < n; i++)
		y[i] = (float)x[i] * scale;
}

TARGET_CLONES void
kernel_add_int8(float *restrict y, const int8_t *restrict x, size_t n,
		float scale)
{
	for (size_t i = 0; i < n; i++)
		y[i] += (float)x[i] * scale;
}

/* ---- signs, and the largest numbers ---- */

TARGET_CLONES bool
kernel_is_zero(const float *x, size_t n)
{
	uint32_t any = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, x + i, sizeof(bits));
		any |= bits;
	}
	return any == 0;
}

#define LANES	8	/* side by side */

static inline double
absolute(float x)
{
	return fabsf(x) < FLT_MIN ? 0 : (double)fabsf(x);
}

TARGET_CLONES float
kernel_mean_absolute(const float *x, size_t n)
{
	double sum[LANES] = { 0 }, all = 0;
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			sum[k] += absolute(x[i + k]);
	for (size_t k = 0; i < n; i++, k++)
		sum[k] += absolute(x[i]);
	for (size_t k = 0; k < LANES; k++)
		all += sum[k];
	all /= (double)n;
	return all < FLT_MIN ? 0 : (float)all;
}

TARGET_CLONES void
kernel_to_signs(void *to, const float *x, size_t n)
{
	unsigned char *at = to;
	uint32_t bits;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		uint32_t byte = 0;

		for (size_t k = 0; k < 8; k++) {
			memcpy(&bits, x + i + k, sizeof(bits));
			byte |= bits >> 31 << k;
		}
		at[i / 8] = (unsigned char)byte;
	}
	if (i < n)
		at[i / 8] = 0;
	for (; i < n; i++) {
		memcpy(&bits, x + i, sizeof(bits));
		at[i / 8] |= (unsigned char)(bits >> 31 << i % 8);
	}
}

static inline float
with_sign(float scale, uint32_t negative)
{
	uint32_t bits;

	memcpy(&bits, &scale, sizeof(bits));
	bits ^= negative << 31;
	memcpy(&scale, &bits, sizeof(scale));
	return scale;
}

TARGET_CLONES void
kernel_add_signs(float *restrict y, const void *restrict signs, size_t n,
		 float scale)
{
	const unsigned char *at = signs;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		for (size_t k = 0; k < 8; k++)
			y[i + k] += with_sign(scale, at[i / 8] >> k & 1);
	for (; i < n; i++)
		y[i] += with_sign(scale, at[i / 8] >> i % 8 & 1);
}

TARGET_CLONES size_t
kernel_count_reaching(const float *x, size_t n, uint32_t magnitude)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += kernel_magnitude(x[i]) >= magnitude;
	return count;
}

uint32_t
kernel_rank(const float *x, size_t n, size_t rank)
{
	uint32_t low = 1, high = kernel_magnitude(kernel_largest(x, n)) + 1;

	if (kernel_count_reaching(x, n, low) <= rank)
		return low;
	/* At least rank numbers reach low, and fewer than rank reach high. */
	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;
		const size_t count = kernel_count_reaching(x, n, middle);

		if (count == rank)
			return middle;
		if (count > rank)
			low = middle;
		else
			high = middle;
	}
	return low;
}
