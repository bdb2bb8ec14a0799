/*
 * codec_float32 - floats as they lie in memory, little-endian.
 */
#include "wire/codec.h"

#include "tensor/kernels.h"

#include <float.h>
#include <string.h>

static size_t
size(struct codec_slice s)
{
	return s.rows * s.width * sizeof(float);
}

static void
encode(void *to, const float *from, struct codec_slice s)
{
	if (size(s) > 0)
		memcpy(to, from, size(s));
}

static void
decode(float *to, const void *from, struct codec_slice s)
{
	if (size(s) > 0)
		memcpy(to, from, size(s));
}

static void
add(float *to, const void *from, struct codec_slice s)
{
	kernel_add_loose(to, from, s.rows * s.width);
}

static bool
is_finite(const void *from, struct codec_slice s)
{
	return kernel_finite(from, s.rows * s.width);
}

const struct codec codec_float32 = {
	.name = "float32",
	.exact = true,
	.most = FLT_MAX,
	.block = 1,
	.size = size,
	.encode = encode,
	.decode = decode,
	.add = add,
	.finite = is_finite,
};
