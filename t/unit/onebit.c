/*
 * The codecs of few bits, onebit and topk: bytes do not depend on how a
 * variable is cut, a block of zeros takes a bit, other bytes than they write
 * are refused, and without residuals their errors are lost.  With an argument
 * the program writes cases for t/helper/codecs.py, which encodes the same
 * numbers by ps-wire(7).
 */
#include "wire/codec.h"

#include "base/rng.h"
#include "tap.h"
#include "tensor/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DENSE	5000		/* not whole blocks */
#define BLOCK	1024	/* of topk, and 8 of onebit */

static float value[DENSE];
static unsigned char bytes[4 * DENSE];

static const struct codec *const codecs[] = { &codec_onebit, &codec_topk };

/* Fills numbers of all sizes, many of one size, zeros of both signs, and some
   blocks of zeros. */
static void
fill(struct rng *rng)
{
	for (size_t i = 0; i < DENSE; i++) {
		const int size = (int)rng_below(rng, 20) - 10;

		value[i] = rng_below(rng, 3) == 0 ? 0 :
			(float)ldexp(rng_unit(rng_next(rng)) - .5, size);
		if (i / BLOCK % 4 == 1)
			value[i] = i % 3 > 0 ? 0 : i % 2 ? 2 : -2;
		if (i / BLOCK % 4 == 2)
			value[i] = i % 7 > 0 ? 0 : -0.0f;
	}
	if (rng_below(rng, 2) > 0)
		memset(value + 2 * BLOCK, 0, BLOCK * sizeof(*value));
	value[10] = FLT_MAX / 2;
	value[20] = -FLT_MIN;
	value[30] = 0x1p-140f;
}

static struct codec_slice
dense(size_t first, size_t count, uint64_t keep)
{
	return (struct codec_slice){
		.rows = count, .width = 1, .first = first, .of = DENSE,
		.pulled = true, .difference = true, .keep = keep
	};
}

/* Encodes a slice into bytes; returns its size. */
static size_t
encode(const struct codec *c, const float *from, struct codec_slice s)
{
	size_t size = 0;

	memset(bytes, 0xee, sizeof(bytes));
	if (codec_encode(c, bytes, from, s) > codec_most(c, s) ||
	    !codec_length(c, bytes, codec_most(c, s), s, &size) || size % 2 ||
	    bytes[size] != 0xee || !codec_finite(c, bytes, s))
		named(false,
		      "the encoded slice is valid, and no longer than the "
		      "limit");
	return size;
}

static void
test_cuts(struct rng *rng, const struct codec *c)
{
	static float whole[DENSE], pieces[DENSE];
	bool good = true;

	encode(c, value, dense(0, DENSE, 100));
	codec_decode(c, whole, bytes, dense(0, DENSE, 100));
	for (int i = 0; i < 100; i++) {
		for (size_t at = 0, n; at < DENSE; at += n) {
			n = 1 + rng_below(rng, 2000);
			n = n < DENSE - at ? n : DENSE - at;
			encode(c, value + at, dense(at, n, 100));
			codec_decode(c, pieces + at, bytes, dense(at, n, 100));
		}
		good = good && same_floats(pieces, whole, DENSE);
	}
	named(good,
	      "encoded numbers do not depend on how their variable is cut");
	memcpy(pieces, value, sizeof(pieces));
	encode(c, value, dense(0, DENSE, 100));
	codec_add(c, pieces, bytes, dense(0, DENSE, 100));
	for (size_t i = 0; i < DENSE; i++)
		good = good && !(pieces[i] < value[i] + whole[i]) &&
			!(pieces[i] > value[i] + whole[i]);
	named(good, "adding an encoded slice equals decoding it, then adding");
}

static void
test_zeros(void)
{
	static const float none[20 * BLOCK];
	static float some[20 * BLOCK];
	struct codec_slice s = { .rows = 20 * BLOCK, .width = 1, .keep = 8,
				 .difference = true };

	ok(encode(&codec_onebit, none, s) == 20 &&
	   encode(&codec_topk, none, s) == 4);
	some[5 * BLOCK + 7] = -0.0f;
	named_equals(encode(&codec_onebit, some, s), 20 + 2 + 16,
		     "a block with -0 is not encoded as a block of zeros");
	equals((long long)encode(&codec_topk, some, s), 3 + 2 + 2 + 2 + 1);
	codec_decode(&codec_topk, some, bytes, s);
	ok(some[5 * BLOCK + 7] == 0);
}

static void
test_sizes(void)
{
	const struct codec_slice s = dense(0, 3 * BLOCK, 10);

	equals((long long)codec_most(&codec_onebit, s), 24 * (2 + 16) + 3 + 1);
	equals((long long)codec_most(&codec_topk, s), 3 * (2 + 20 + 13) + 1);
	ok(codec_topk.keep(0.01) == 10 && codec_topk.keep(0.5) == 512 &&
	   codec_topk.keep(0.001) == 1);
	named(codec_topk.keep(0) == 0 && codec_topk.keep(0.0004) == 0 &&
	      codec_topk.keep(0.51) == 0 && codec_topk.keep(2) == 0 &&
	      codec_topk.keep(-1) == 0 && codec_topk.keep((double)NAN) == 0,
	      "topk accepts shares from 1/1024 to a half, and no others");
}

static void
test_largest(void)
{
	float some[BLOCK] = { 0 }, got[BLOCK];
	struct codec_slice s = { .rows = BLOCK, .width = 1, .keep = 4,
				 .difference = true };

	some[1000] = -7;
	some[3] = 5;
	some[500] = -5;
	some[4] = 3;
	some[900] = -3;
	some[901] = 3;
	encode(&codec_topk, some, s);
	codec_decode(&codec_topk, got, bytes, s);
	some[900] = some[901] = 0;
	named(same_floats(got, some, sizeof(got) / sizeof(*got)),
	      "topk sends the largest numbers, and the first of equally large "
	      "ones");
}

/* Does the codec accept these bytes of a peer? */
static bool
takes(const struct codec *c, const char *from, size_t size,
      struct codec_slice s)
{
	size_t length;

	return codec_length(c, from, size, s, &length);
}

static void
test_hostile(const struct codec *c)
{
	const struct codec_slice s = dense(100, 3000, 50);
	const size_t size = encode(c, value + 100, s);
	static float to[DENSE];
	struct rng rng = { .seed = 9 };
	bool good = true;
	size_t length, taken = 0;

	for (size_t i = 0; i < size; i++)
		good = good && !takes(c, (char *)bytes, i, s);
	named(good, "a slice that is cut short is refused");
	for (int i = 0; i < 20000; i++) {
		const size_t at = rng_below(&rng, size);
		const unsigned char was = bytes[at];

		bytes[at] = (unsigned char)rng_next(&rng);
		if (codec_length(c, bytes, size, s, &length)) {
			taken++;
			good = good && length <= size;
			codec_decode(c, to, bytes, s);
		}
		bytes[at] = was;
	}
	named(good && taken > 0,
	      "a changed slice that is accepted writes only into its own "
	      "memory");
}

static void
test_refused(void)
{
	const struct codec_slice s = { .rows = 100, .width = 1,
				       .difference = true, .keep = 2 };

	ok(takes(&codec_topk, "\1\2\0aabb\3\20\0\0", 10, s));
	named(!takes(&codec_topk, "\1\2\0aabb\3\14\0\0", 10, s),
	      "a position that comes twice in a block is refused");
	named(!takes(&codec_topk, "\1\2\0aabb\3\374\7\0", 10, s) &&
	      !takes(&codec_topk, "\1\145\0aabb\3\20\0\0", 10, s),
	      "a position or a count beyond the block is refused");
	named(!takes(&codec_topk, "\3\2\0aabb\3\20\0\0", 10, s) &&
	      !takes(&codec_onebit, "\2\0", 2, s),
	      "the bit of a block beyond the slice is refused");
	named(takes(&codec_topk, "\1\1\0aa\3\0\0", 8, s) &&
	      !takes(&codec_topk, "\1\1\0aa\3\0\1", 8, s),
	      "a padding byte other than 0 is refused");
	ok(!codec_finite(&codec_onebit, "\1\x80\x7f", s) &&
	   codec_finite(&codec_onebit, "\1\x7f\x7f", s) &&
	   !codec_finite(&codec_topk, "\1\2\0a\1\xc0\xff\3\20\0", s));
}

/*
 * Counterexample 2 of Karimireddy et al., "Error Feedback Fixes SignSGD and
 * other Gradient Compression Schemes", 2019: e |a + b| + |a - b|, from (1, 1).
 * The signs of its gradient are (1, -1) or (-1, 1), so that without residuals
 * a + b never changes.
 */
static double
descend(bool feedback)
{
	const struct codec_slice s = { .rows = 2, .width = 1,
				       .difference = true };
	const float e = 0.5f;
	float x[2] = { 1, 1 }, kept[2] = { 0 }, p[2], sent[2];

	for (int t = 0; t < 4000; t++) {
		const float rate = 0.5f / (float)(t + 10);
		const float along = x[0] + x[1] > 0 ? e : -e;
		const float across = x[0] - x[1] > 0 ? 1 : -1;

		p[0] = rate * (along + across) + kept[0];
		p[1] = rate * (along - across) + kept[1];
		codec_encode(&codec_onebit, bytes, p, s);
		codec_decode(&codec_onebit, sent, bytes, s);
		for (int i = 0; i < 2; i++) {
			x[i] -= sent[i];
			kept[i] = feedback ? p[i] - sent[i] : 0;
		}
	}
	return (double)(e * fabsf(x[0] + x[1]) + fabsf(x[0] - x[1]));
}

static void
test_feedback(void)
{
	named(descend(false) >= 1,
	      "onebit without residuals does not find the minimum");
	named(descend(true) < 0.01, "onebit with residuals finds the minimum");
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
print_cases(struct rng *rng)
{
	for (int i = 0; i < 60; i++) {
		const struct codec *c = codecs[i % 2];
		const uint64_t keep = i % 2 == 0 ? 0 : i == 1 ? 512 :
			1 + rng_below(rng, 60);
		const size_t first = rng_below(rng, DENSE);
		const size_t count = 1 + rng_below(rng, DENSE - first);
		size_t size;

		fill(rng);
		size = encode(c, value + first, dense(first, count, keep));
		printf("%s %llu %zu %zu\n", c->name, (unsigned long long)keep,
		       first, count);
		print_hex(value, sizeof(value));
		print_hex(bytes, size);
	}
}

int
main(int argc, char **argv)
{
	struct rng rng = { .seed = 5 };

	(void)argv;
	if (argc > 1) {
		print_cases(&rng);
		return 0;
	}
	fill(&rng);
	for (size_t i = 0; i < sizeof(codecs) / sizeof(*codecs); i++) {
		test_cuts(&rng, codecs[i]);
		test_hostile(codecs[i]);
	}
	test_zeros();
	test_sizes();
	test_largest();
	test_refused();
	test_feedback();
	return tap_done();
}
