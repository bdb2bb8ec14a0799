/*
 * codec_bfloat16 - the upper halves of floats: their whole range, and 8
 * significant bits, in half the bytes; see kernel_to_bfloat16().
 */
#include "wire/codec.h"

#include "tensor/kernels.h"

static size_t
size(struct codec_slice s)
{
	return s.rows * s.width * sizeof(uint16_t);
}

static void
encode(void *to, const float *from, struct codec_slice s)
{
	kernel_to_bfloat16(to, from, s.rows * s.width);
}

static void
decode(float *to, const void *from, struct codec_slice s)
{
	kernel_from_bfloat16(to, from, s.rows * s.width);
}

static void
add(float *to, const void *from, struct codec_slice s)
{
	kernel_add_bfloat16(to, from, s.rows * s.width);
}

static bool
is_finite(const void *from, struct codec_slice s)
{
	return kernel_finite_bfloat16(from, s.rows * s.width);
}

const struct codec codec_bfloat16 = {
	.name = "bfloat16",
	/* The next float lies half way to 2^128, and a tie would be rounded to
	   that. */
	.most = 0x1.fefffep127f,
	.block = 1,
	.size = size,
	.encode = encode,
	.decode = decode,
	.add = add,
	.finite = is_finite,
};
