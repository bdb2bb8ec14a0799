/*
 * codec_onebit - the sign of each number, and for each block the mean of its
 * absolute values, which each number of the block becomes, with its sign.
 *
 * The codec is for differences alone: what one difference loses is in the next
 * one (see shard_published.c).  SignSGD by itself does not converge; with such
 * error feedback it does (Karimireddy et al., "Error Feedback Fixes SignSGD and
 * other Gradient Compression Schemes", 2019).
 *
 * The block is about a row of a layer's kernel.  Rows differ in size, and those
 * of inputs that are 0 in the whole batch are a zero block: in blocks of 1024
 * such rows get numbers from their neighbours, and MNIST with momentum lost
 * 0.008 of its accuracy, not 0.001, for as many bytes (t/quality).
 */
#include "wire/codec_blocks.h"

#include "tensor/kernels.h"

#include <string.h>

#define BLOCK		((size_t)128)
#define SCALE		sizeof(uint16_t)

static size_t
run_size(struct codec_slice s, size_t count)
{
	(void)s;
	return SCALE + (count + 7) / 8;
}

static char *
encode_run(char *to, const float *from, struct codec_slice s,
	   struct codec_run r)
{
	size_t count;
	const float *whole = codec_whole_block(from, s, BLOCK, r, &count);
	const float mean = kernel_mean_absolute(whole, count);
	uint16_t scale;

	kernel_to_bfloat16(&scale, &mean, 1);
	memcpy(to, &scale, SCALE);
	kernel_to_signs(to + SCALE, from + r.at, r.count);
	return to + run_size(s, r.count);
}

static size_t
run_length(const char *from, size_t left, struct codec_run r)
{
	const size_t size = SCALE + (r.count + 7) / 8;

	(void)from;
	return size <= left ? size : 0;
}

static void
add_run(float *to, const char *from, struct codec_run r)
{
	float scale;

	kernel_from_bfloat16(&scale, from, 1);
	kernel_add_signs(to, from + SCALE, r.count, scale);
}

static bool
is_run_finite(const char *from)
{
	return kernel_finite_bfloat16(from, 1);
}

static const struct codec_sparse blocks = {
	BLOCK, run_size, encode_run, run_length, add_run, is_run_finite
};

const struct codec codec_onebit = {
	.name = "onebit",
	/* As bfloat16: a mean is not above the largest number. */
	.most = 0x1.fefffep127f,
	.block = BLOCK,
	.sparse = &blocks,
};
