/*
 * codec_int8 - eight bits a number, and a scale for each block of numbers.
 *
 * The scale is a bfloat16: the smallest that is at least a 127th of the largest
 * absolute value of the block.  Each number of a gradient is rounded to one of
 * its two neighbours at random, so that its expected value is the number
 * itself.  The random draw depends on the step, the variable and the place of
 * the number, so that every attempt at the step draws the same.  Pulled values,
 * which nobody adds up, are rounded to the nearest.
 *
 * A variable that is not a table is cut into blocks from its first element on,
 * whatever its pieces are: a block that lies in two pieces has one scale, which
 * both pieces carry.  A row of a table of at most 128 numbers is one block; a
 * longer row is cut into blocks.  An encoded slice is the scales of all its
 * blocks, then the numbers, and a byte of 0 if the sum is odd.
 */
#include "wire/codec_blocks.h"

#include "base/rng.h"
#include "tensor/kernels.h"

#include <math.h>
#include <string.h>

#define BLOCK		((size_t)64)
#define LEAST_ROW	8	/* narrower rows gain nothing */
#define MOST_ROW	128	/* the widest row that is one block */
#define SCALE		sizeof(uint16_t)

/* float32 for what must be exact and for pulled values of dense variables;
   bfloat16 for narrow rows. */
static const struct codec *
codec_for_slice(struct codec_slice s)
{
	if (s.exact || (s.pulled && !s.table && !s.difference))
		return &codec_float32;
	return s.table && s.width < LEAST_ROW ? &codec_bfloat16 : &codec_int8;
}

/* The blocks of a row of a table, or of a piece, which may begin inside a
   block. */
static size_t
count_blocks(struct codec_slice s)
{
	if (s.table)
		return s.width <= MOST_ROW ? 1 : (s.width + BLOCK - 1) / BLOCK;
	return codec_runs(s, BLOCK);
}

static size_t
count_scales(struct codec_slice s)
{
	return s.table ? s.rows * count_blocks(s) : count_blocks(s);
}

static size_t
size(struct codec_slice s)
{
	const size_t bytes = count_scales(s) * SCALE + s.rows * s.width;

	return bytes + bytes % SCALE;
}

/* Block k of a row of a table, or of a piece: the numbers that share a
   scale. */
static struct codec_run
run_of(struct codec_slice s, size_t row, size_t k)
{
	const size_t begin = k * BLOCK, left = s.width - begin;

	if (!s.table)
		return codec_run(s, BLOCK, k);
	return (struct codec_run){
		row * s.width + begin,
		s.width <= MOST_ROW || left < BLOCK ? left : BLOCK, 0
	};
}

/* The largest absolute value of a whole block. */
static float
largest(const float *from, struct codec_slice s, struct codec_run r)
{
	size_t count = r.count;
	const float *whole = s.table ? from + r.at :
		codec_whole_block(from, s, BLOCK, r, &count);

	return kernel_largest(whole, count);
}

/* The key of a block's random draws: its step, its variable and its place. */
static uint64_t
draw_key(struct codec_slice s, size_t row, size_t k, struct codec_run r)
{
	return s.table ? rng_at(s.draw, s.ids[row], k) :
		rng_at(s.draw, 0, (s.first + r.at) / BLOCK);
}

static void
encode_block(char *scales, int8_t *to, const float *from,
	     struct codec_slice s, size_t row, size_t k)
{
	const size_t number = s.table ? row * count_blocks(s) + k : k;
	const struct codec_run r = run_of(s, row, k);
	const float scale = kernel_int8_scale(largest(from, s, r));
	uint16_t half;

	kernel_to_bfloat16(&half, &scale, 1);	/* exact: the scale is a
						   bfloat16 */
	memcpy(scales + number * SCALE, &half, SCALE);
	if (s.pulled)
		kernel_to_int8(to + r.at, from + r.at, r.count, scale);
	else
		kernel_draw_int8(to + r.at, from + r.at, r.count, scale,
				 draw_key(s, row, k, r), r.inside);
}

static void
encode(void *to, const float *from, struct codec_slice s)
{
	int8_t *numbers = (int8_t *)to + count_scales(s) * SCALE;
	const size_t blocks = count_blocks(s);

	if (s.rows * s.width % SCALE)
		numbers[s.rows * s.width] = 0;
	for (size_t row = 0; row < (s.table ? s.rows : 1); row++)
		for (size_t k = 0; k < blocks; k++)
			encode_block(to, numbers, from, s, row, k);
}

static float
scale_at(const void *from, size_t number)
{
	float scale;

	kernel_from_bfloat16(&scale, (const char *)from + number * SCALE, 1);
	return scale;
}

/* Each run of numbers, with its scale, to where it belongs. */
static void
decode_blocks(float *to, const void *from, struct codec_slice s,
	      void (*take)(float *, const int8_t *, size_t, float))
{
	const int8_t *numbers = (const int8_t *)from +
		count_scales(s) * SCALE;
	const size_t blocks = count_blocks(s);
	size_t number = 0;

	for (size_t row = 0; row < (s.table ? s.rows : 1); row++)
		for (size_t k = 0; k < blocks; k++) {
			const struct codec_run r = run_of(s, row, k);

			take(to + r.at, numbers + r.at, r.count,
			     scale_at(from, number++));
		}
}

static void
decode(float *to, const void *from, struct codec_slice s)
{
	decode_blocks(to, from, s, kernel_from_int8);
}

static void
add(float *to, const void *from, struct codec_slice s)
{
	decode_blocks(to, from, s, kernel_add_int8);
}

static bool
is_finite(const void *from, struct codec_slice s)
{
	const size_t scales = count_scales(s);
	bool all = true;

	for (size_t i = 0; i < scales; i++)
		all = all && isfinite(scale_at(from, i) * (float)INT8_MIN);
	return all;
}

const struct codec codec_int8 = {
	.name = "int8",
	/* The scale may be a 128th larger than it must be. */
	.most = 0x1.fp127f,
	.block = BLOCK,
	.as = codec_for_slice,
	.size = size,
	.encode = encode,
	.decode = decode,
	.add = add,
	.finite = is_finite,
};
