/*
 * The codec int8: numbers are right on average, and the same however a variable
 * is cut.  With an argument the program writes cases for t/helper/codecs.py,
 * which encodes the same numbers by ps-wire(7).
 */
#include "wire/plan.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/flush_denormals.h"
#include "tap.h"
#include "tensor/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DENSE	1500		/* not whole blocks */
#define DRAWS	1000000

static float value[DENSE];
static unsigned char bytes[4 * DENSE];

/* Fills numbers of all sizes, zeros, and some blocks of zeros and denormals. */
static void
fill(struct rng *rng)
{
	for (size_t i = 0; i < DENSE; i++) {
		const int size = (int)rng_below(rng, 20) - 10;

		value[i] = rng_below(rng, 5) == 0 ? 0 :
			(float)ldexp(rng_unit(rng_next(rng)) - .5, size);
		if (i / 64 % 5 == 3)
			value[i] = i % 2 ? 0x1p-140f : 0;
		if (i / 64 % 5 == 4)
			value[i] *= 0x1p-120f;
	}
	value[100] = FLT_MAX / 2;
	value[700] = -FLT_MIN;
}

static struct codec_slice
dense(size_t first, size_t count)
{
	return (struct codec_slice){ .rows = count, .width = 1,
		.first = first, .of = DENSE, .draw = 99 };
}

/* Encodes a slice, and decodes it to floats. */
static void
through(float *to, const float *from, struct codec_slice s)
{
	const struct codec *c = codec_for(&codec_int8, s);

	memset(bytes, 0xee, sizeof(bytes));
	if (bytes[codec_encode(c, bytes, from, s)] != 0xee)
		named(false,
		      "the encoder writes no byte beyond the size it states");
	codec_decode(c, to, bytes, s);
}

static void
test_cuts(struct rng *rng)
{
	static float whole[DENSE], pieces[DENSE];
	bool good = true;

	through(whole, value, dense(0, DENSE));
	for (int i = 0; i < 200; i++) {
		for (size_t at = 0, n; at < DENSE; at += n) {
			n = 1 + rng_below(rng, 300);
			n = n < DENSE - at ? n : DENSE - at;
			through(pieces + at, value + at, dense(at, n));
		}
		good = good && same_floats(pieces, whole, DENSE);
	}
	named(good,
	      "encoded numbers do not depend on how their variable is cut");
	good = true;
	for (size_t i = 0; i < DENSE; i++) {
		const size_t block = i - i % 64;
		const float most = kernel_largest(value + block,
			DENSE - block < 64 ? DENSE - block : 64);

		good = good && fabsf(whole[i] - value[i]) <=
			kernel_int8_scale(most) + FLT_MIN;
	}
	named(good, "each number is rounded to one of its two neighbours");
	for (size_t i = 0; i < DENSE; i++)
		good = good && (value[i] > 0 || value[i] < 0 || whole[i] == 0);
	named(good, "a zero stays zero");
}

static void
test_add(void)
{
	static float decoded[DENSE], sum[DENSE];
	const struct codec_slice s = dense(13, 1000);

	through(decoded, value + 13, s);
	for (size_t i = 0; i < s.rows; i++)
		sum[i] = 0.25f;
	codec_int8.add(sum, bytes, s);
	for (size_t i = 0; i < s.rows; i++)
		decoded[i] += 0.25f;
	named(same_floats(sum, decoded, s.rows),
	      "adding an encoded slice equals decoding it, then adding");
}

/* Is the mean of x, encoded a million times beside a number that sets the
   scale, right? */
static bool
is_right(float x, float most)
{
	static int8_t q[64];
	const float scale = kernel_int8_scale(most);
	const double y = (double)x / (double)scale;
	const double part = y - floor(y);
	const double sigma = sqrt(part * (1 - part) / DRAWS);
	float in[64];
	double sum = 0;

	for (size_t i = 0; i < 64; i++)
		in[i] = x;
	for (uint64_t n = 0; n < DRAWS / 64; n++) {
		kernel_draw_int8(q, in, 64, scale, rng_at(7, 1, n), 0);
		for (size_t i = 0; i < 64; i++)
			sum += q[i];
	}
	return fabs(sum / (DRAWS / 64 * 64) - y) <= 4 * sigma + 0x1p-23;
}

static void
test_average(void)
{
	static const float most[] = { 1, 3e-5f, 1e30f, FLT_MAX,
				      FLT_MIN * 4000 };
	bool good = true;

	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		const float m = most[i], scale = kernel_int8_scale(m);

		good = good && is_right(0, m) && is_right(m, m) &&
			is_right(-m, m) && is_right(m / 3, m) &&
			is_right(scale * 2.5f, m) && is_right(-m / 1000, m);
	}
	named(good,
	      "the mean of a million draws is the number, within 4 sigma");
	named(is_right(FLT_MIN, FLT_MIN * 130) && is_right(FLT_MIN, 1),
	      "the smallest normal float is right on average, too");
}

static bool
scales_fit(struct rng *rng)
{
	for (int i = 0; i < 100000; i++) {
		uint32_t bits = (uint32_t)(rng_next(rng) >> 33);
		float m, scale;

		if (bits >= 0x7f000000)
			continue;
		memcpy(&m, &bits, sizeof(m));
		scale = kernel_int8_scale(m);
		memcpy(&bits, &scale, sizeof(bits));
		if ((bits & 0xffff) != 0 || (m < FLT_MIN) != (bits == 0) ||
		    (bits > 0 && (double)scale * 127.0001 < (double)m))
			return false;
	}
	return true;
}

/* The bytes of a row do not depend on the rows beside it. */
static void
test_rows(struct rng *rng)
{
	static const size_t widths[] = { 8, 9, 31, 64, 128, 129, 200 };
	bool good = true;

	for (size_t k = 0; k < sizeof(widths) / sizeof(*widths); k++) {
		const size_t w = widths[k], rows = 7;
		const uint64_t ids[] = { 2, 3, 5, 8, 1ull << 40, 1ull << 41,
					 UINT64_MAX };
		struct codec_slice s = { .rows = rows, .width = w,
			.table = true, .draw = rng_next(rng), .ids = ids };
		float all[7 * 200], one[200];

		through(all, value, s);
		for (size_t row = 0; row < rows; row++) {
			s.rows = 1;
			s.ids = ids + row;
			through(one, value + row * w, s);
			good = good && memcmp(one, all + row * w,
					      w * sizeof(*one)) == 0;
		}
	}
	named(good, "a row's bytes do not depend on the rows beside it");
}

static void
test_others(void)
{
	struct codec_slice s = { .rows = 3, .width = 7, .table = true };

	named(codec_for(&codec_int8, s) == &codec_bfloat16,
	      "narrow rows of a table use bfloat16");
	s.width = 8;
	ok(codec_for(&codec_int8, s) == &codec_int8 &&
	   codec_int8.size(s) == 3 * (8 + 2));
	s.pulled = true;
	ok(codec_for(&codec_int8, s) == &codec_int8);
	s.exact = true;
	ok(codec_for(&codec_int8, s) == &codec_float32);
	s = dense(0, 129);
	ok(codec_int8.size(s) == 3 * 2 + 129 + 1);
	s.pulled = true;
	named(codec_for(&codec_int8, s) == &codec_float32,
	      "pulled values of a dense variable stay floats");
}

static void
test_hostile(void)
{
	const struct codec_slice s = dense(0, 64);
	const uint16_t huge = 0x7e80, infinite = 0x7f80, nan = 0xffc0;

	memset(bytes, 0x80, sizeof(bytes));
	memcpy(bytes, &infinite, 2);
	ok(!codec_int8.finite(bytes, s));
	memcpy(bytes, &nan, 2);
	ok(!codec_int8.finite(bytes, s));
	memcpy(bytes, &huge, 2);
	named(!codec_int8.finite(bytes, s),
	      "a scale that is too large is refused");
	memset(bytes, 0, 2);
	ok(codec_int8.finite(bytes, s));
}

/* ---- cases for codecs.py ---- */

static void
print_hex(const void *from, size_t size)
{
	const unsigned char *at = from;

	for (size_t i = 0; i < size; i++)
		printf("%02x", at[i]);
	printf("\n");
}

static void
print_case(const char *kind, struct codec_slice s, const uint64_t step[4])
{
	const float *from = value + s.first;
	uint64_t id[16];

	s.draw = rng_at(rng_at(step[0], 0x636f646563u, step[1]), step[2],
			step[3]);
	s.ids = id;
	for (size_t i = 0; i < 16; i++)
		id[i] = step[3] * 1000 + i * i * 0x123456789abu;
	codec_int8.encode(bytes, from, s);
	printf("%s %d %llu %llu %llu %llu %zu %zu %zu", kind, s.pulled,
	       (unsigned long long)step[0], (unsigned long long)step[1],
	       (unsigned long long)step[2], (unsigned long long)step[3],
	       s.rows, s.width, s.first);
	for (size_t i = 0; s.table && i < s.rows; i++)
		printf(" %llu", (unsigned long long)id[i]);
	printf("\n");
	print_hex(s.table ? from : value, (s.table ? s.rows * s.width :
					   DENSE) * sizeof(float));
	print_hex(bytes, codec_int8.size(s));
}

static void
print_cases(struct rng *rng)
{
	for (int i = 0; i < 60; i++) {
		const uint64_t step[4] = { rng_next(rng), rng_below(rng, 1000),
					   rng_below(rng, 9),
					   rng_below(rng, 30) };
		const size_t first = rng_below(rng, DENSE);
		const size_t width = 8 + rng_below(rng, 80) * (1 + i % 2);
		struct codec_slice s = dense(first, 1 + rng_below(rng, DENSE -
								  first));

		fill(rng);
		print_case("dense", s, step);
		s = (struct codec_slice){ .width = width, .table = true,
					  .rows = 1 + rng_below(rng, 8),
					  .pulled = i % 3 == 0 };
		print_case("rows", s, step);
	}
}

int
main(int argc, char **argv)
{
	struct rng rng = { .seed = 3 };

	(void)argv;
	if (argc > 1) {
		print_cases(&rng);
		return 0;
	}
	for (int flushed = 0; flushed < 2; flushed++) {
		fill(&rng);
		test_cuts(&rng);
		test_add();
		test_average();
		named(scales_fit(&rng),
		      "scales are bfloat16 numbers that hold the largest "
		      "value");
		test_rows(&rng);
		flush_denormals();	/* as the programs do */
	}
	test_others();
	test_hostile();
	return tap_done();
}
