/*
 * The tuned product equals the naive one, on all shapes and transposes;
 * vectorized loops equal loops over single numbers.
 */
#include "tensor/kernels.h"

#include "base/rng.h"
#include "wire/codec.h"

#include "tap.h"

#include <float.h>
#include <math.h>
#include <string.h>

static float a[4096], b[4096], c[4096], d[4096];

static bool
equal(struct gemm g)
{
	for (size_t i = 0; i < g.m * g.n; i++)
		c[i] = d[i] = (float)i / 64;
	kernel_gemm(g, a, b, c);
	kernel_gemm_naive(g, a, b, d);
	for (size_t i = 0; i < g.m * g.n; i++)
		if (!(fabsf(c[i] - d[i]) <= 1e-5f * (1 + fabsf(d[i])))) {
			printf("# %zu x %zu x %zu: %g, %g\n", g.m, g.n, g.k,
			       (double)c[i], (double)d[i]);
			return false;
		}
	return true;
}

/* Sums of very many terms are added up in parts, along either axis. */
static void
test_long_sums(void)
{
	enum { TERMS = 9001 };
	static float x[2 * TERMS], y[3 * TERMS];
	bool good = true;

	for (size_t i = 0; i < 2 * TERMS; i++)
		x[i] = (float)(i * 7 % 5) - 2;
	for (size_t i = 0; i < 3 * TERMS; i++)
		y[i] = (float)(i * 5 % 7) - 2;
	for (int how = 0; how < 8; how++) {
		const struct gemm g = { .m = 2, .n = 3, .k = TERMS,
			.transpose_a = how & 1, .transpose_b = how & 2,
			.add = how & 4 };

		for (size_t i = 0; i < 6; i++)
			c[i] = d[i] = (float)i;
		kernel_gemm(g, x, y, c);
		kernel_gemm_naive(g, x, y, d);
		good = good && same_floats(c, d, 6);
	}
	named(good,
	      "sums of very many terms equal the naive product's, to the bit");
}

/* Multiplies n elements: are all right, and none after them changed? */
static bool
multiplies(size_t n)
{
	bool good = true;

	for (size_t i = 0; i <= n; i++)
		c[i] = d[i] = (float)i / 64;
	kernel_multiply(c, a, n);
	kernel_add_product(d, a, b, n);
	for (size_t i = 0; i < n; i++)
		good = good && c[i] == (float)i / 64 * a[i] &&
		       d[i] == (float)i / 64 + a[i] * b[i];
	return good && c[n] == (float)n / 64 && d[n] == (float)n / 64;
}

/* Adds rows of n numbers whose sums need doubles: are all right, and none after
   them changed? */
static bool
adds_rows(size_t rows, size_t n)
{
	static float x[8192], sum[257];
	bool good = true;

	for (size_t i = 0; i < rows * n; i++)
		x[i] = i / n % 3 == 0 ? 1e9f + (float)(i % n) * 64 :
			i / n % 3 == 1 ? -1e9f : (float)(i % 7);
	for (size_t k = 0; k <= n; k++)
		sum[k] = .5f;
	kernel_add_rows(sum, x, rows, n);
	for (size_t k = 0; k < n; k++) {
		double want = 0;

		for (size_t i = 0; i < rows; i++)
			want += (double)x[i * n + k];
		good = good && sum[k] == .5f + (float)want;
	}
	return good && sum[n] == .5f;
}

/* Is the largest of n floats found at any place, from any address? */
static bool
finds_largest(size_t n, struct rng *rng)
{
	static unsigned char bytes[80 * sizeof(float) + 1];
	const size_t at = n > 0 ? rng_next(rng) % n : 0;
	float x[80], largest = 0;

	for (size_t i = 0; i < n; i++) {
		x[i] = (float)rng_unit(rng_next(rng)) - .5f;
		largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
	}
	memcpy(bytes + 1, x, n * sizeof(*x));
	if (kernel_largest(bytes + 1, n) != largest)
		return false;
	if (n == 0)
		return true;
	x[at] = -FLT_MAX;
	if (kernel_largest(x, n) != FLT_MAX)
		return false;
	x[at] = -INFINITY;
	if (kernel_largest(x, n) != INFINITY)
		return false;
	x[(at + 1) % n] = -NAN;
	return isnan(kernel_largest(x, n));
}

/* ---- bfloat16 ---- */

#define HALVES	65536

static float
float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static uint32_t
bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static double
value_of(uint32_t half)
{
	return (double)float_of(half << 16);
}

/*
 * Returns the nearest bfloat16; of two that are as near, the even one.  Above
 * the largest is infinity, at the distance of the next power of two.
 */
static uint16_t
nearest(float x)
{
	const uint32_t sign = bits_of(x) >> 31 << 15;
	const uint32_t low = bits_of(x) >> 16 & 0x7fff, high = low + 1;
	const double size = fabs((double)x);
	const double top = high == 0x7f80 ? ldexp(1, 128) : value_of(high);
	const double below = size - value_of(low), above = top - size;

	if (isnan(x))
		return (uint16_t)(sign | low | 0x40);
	if (isinf(x) || below < above || (below == above && low % 2 == 0))
		return (uint16_t)(sign | low);
	return (uint16_t)(sign | high);
}

/* Is each bfloat16 the same after conversion to a float and back, from any
   address? */
static bool
all_halves(size_t offset)
{
	static char bytes[2 * HALVES + 8];
	static float wide[HALVES];
	static uint16_t half[HALVES], back[HALVES];
	bool good = true;

	for (size_t i = 0; i < HALVES; i++)
		half[i] = (uint16_t)i;
	memcpy(bytes + offset, half, sizeof(half));
	kernel_from_bfloat16(wide, bytes + offset, HALVES);
	kernel_to_bfloat16(back, wide, HALVES);
	for (uint32_t i = 0; i < HALVES; i++)
		good = good && bits_of(wide[i]) == i << 16 &&
		       back[i] == (isnan(wide[i]) ? (i | 0x40) : i);
	return good;
}

/* Are floats rounded right that differ from a bfloat16 by these low bits: it,
   the ties, and the floats next to them? */
static bool
rounds(uint32_t low)
{
	static float wide[HALVES];
	static uint16_t half[HALVES];
	size_t wrong = 0;

	for (uint32_t i = 0; i < HALVES; i++)
		wide[i] = float_of(i << 16 | low);
	kernel_to_bfloat16(half, wide, HALVES);
	for (size_t i = 0; i < HALVES; i++)
		if (half[i] != nearest(wide[i]) && wrong++ == 0)
			printf("# %a to %#x, not %#x\n", (double)wide[i],
			       half[i], nearest(wide[i]));
	return wrong == 0;
}

/* Are n floats converted, for any rest of a vector, and none after them? */
static bool
counts(size_t n, struct rng *rng)
{
	uint16_t half[80] = { 0 };
	float wide[80], again[80];
	bool good = true;

	for (size_t i = 0; i < 80; i++)
		wide[i] = again[i] = float_of((uint32_t)rng_next(rng));
	kernel_to_bfloat16(half, wide, n);
	kernel_from_bfloat16(again, half, n);
	for (size_t i = 0; i < n; i++)
		good = good && half[i] == nearest(wide[i]) &&
		       bits_of(again[i]) == (uint32_t)half[i] << 16;
	return good && half[n] == 0 && bits_of(again[n]) == bits_of(wide[n]);
}

static void
bfloat16(struct rng *rng)
{
	static const uint32_t lows[] = { 0, 1, 0x7fff, 0x8000, 0x8001,
					 0xffff };
	bool good = true;

	for (size_t i = 0; i < 8; i++)
		good = good && all_halves(i);
	named(good, "every bfloat16 decodes to its float, from any address");
	for (size_t i = 0; i < sizeof(lows) / sizeof(*lows); i++)
		named(rounds(lows[i]),
		      "floats are rounded to the nearest bfloat16, ties to "
		      "even");
	for (size_t i = 0; i < 32 && good; i++)
		good = rounds((uint32_t)rng_next(rng) & 0xffff);
	for (size_t n = 0; n < 79 && good; n++)
		good = counts(n, rng);
	named(good, "any number of random floats is rounded to the nearest");

	const float x[] = { 1, 1.00390625f, 1.01171875f, FLT_MAX, -FLT_MAX,
			    INFINITY, float_of(0x7f800001), -0.0f };
	uint16_t half[8];

	/* A float too large for bfloat16 is found before it is sent. */
	const float most = codec_bfloat16.most;
	const float edge[] = { most, nextafterf(most, INFINITY), -most };

	kernel_to_bfloat16(half + 5, edge, 3);
	named(half[5] == 0x7f7f && half[6] == 0x7f80 && half[7] == 0xff7f &&
	      codec_float32.most == FLT_MAX,
	      "codec_bfloat16.most is the largest float that stays finite as "
	      "bfloat16");
	kernel_to_bfloat16(half, x, 8);
	named(half[0] == 0x3f80 && half[1] == 0x3f80 && half[2] == 0x3f82 &&
	      half[3] == 0x7f80 && half[4] == 0xff80 && half[5] == 0x7f80 &&
	      half[6] == 0x7fc0 && half[7] == 0x8000,
	      "ties, overflow, infinity, a signalling NaN and -0 are rounded "
	      "right");
}

int
main(void)
{
	static const size_t sizes[] = { 1, 2, 3, 10, 33, 64 };
	struct rng rng = { .seed = 1 };
	bool good[8] = { true, true, true, true, true, true, true, true };

	kernel_one_thread();
	for (size_t i = 0; i < 4096; i++) {
		a[i] = (float)rng_unit(rng_next(&rng)) - .5f;
		b[i] = (float)rng_unit(rng_next(&rng)) - .5f;
	}
	for (size_t i = 0; i < 8 * 6 * 6 * 6; i++) {
		const size_t how = i % 8;

		good[how] = good[how] && equal((struct gemm){
			sizes[i / 8 % 6], sizes[i / 48 % 6], sizes[i / 288],
			how & 1, how & 2, how & 4
		});
	}
	for (size_t how = 0; how < 8; how++)
		ok(good[how]);
	ok(equal((struct gemm){ .m = 0, .n = 3, .k = 3 }));
	ok(equal((struct gemm){ .m = 3, .n = 3, .k = 0, .add = true }));

	bool products = true, added = true, largest = true;

	for (size_t n = 0; n < 70; n++)
		products = products && multiplies(n);
	ok(products);

	const float y[] = { 1, 2, 3, 4, 5 };
	float x[] = { 1, 0, -1, FLT_MAX, -FLT_MAX };

	ok(kernel_finite(x, 5));
	x[2] = INFINITY;
	ok(!kernel_finite(x, 5) && kernel_finite(x, 2));
	x[2] = NAN;
	ok(!kernel_finite(x, 5) && !kernel_finite(x + 2, 1));
	for (size_t n = 0; n < 80; n++)
		largest = largest && finds_largest(n, &rng);
	named(largest, "the largest number is found, or an infinity or a NaN");
	x[2] = x[3] = x[4] = 1;
	kernel_axpy(x, -2, y, 5);
	ok(x[0] == -1 && x[1] == -4 && x[4] == -9);
	kernel_add(x, y, 5);
	ok(x[0] == 0 && x[1] == -2 && x[4] == -4);
	for (size_t n = 1; n <= 200; n++)
		for (size_t rows = 0; rows < 40; rows++)
			if (!adds_rows(rows, n))
				added = false;
	named(added, "rows of any width are added up in doubles");
	ok(kernel_dot(x, y, 5) == -4 - 2 * 3 - 3 * 4 - 4 * 5);
	bfloat16(&rng);
	test_long_sums();
	return tap_done();
}
