#include "wire/codec.h"

#include "tensor/kernels.h"

#include <float.h>
#include <string.h>

/* The next one is half way to 2^128, and a tie goes there. */
#define BFLOAT16_MOST	0x1.fefffep127f

const char *
codec_name(enum codec codec)
{
	return codec == CODEC_BFLOAT16 ? "bfloat16" : "float32";
}

size_t
codec_size(enum codec codec)
{
	return codec == CODEC_BFLOAT16 ? sizeof(uint16_t) : sizeof(float);
}

void
codec_write(enum codec codec, void *to, const float *from, size_t n)
{
	if (codec == CODEC_BFLOAT16)
		kernel_to_bfloat16(to, from, n);
	else if (n > 0)
		memcpy(to, from, n * sizeof(float));
}

void
codec_read(enum codec codec, float *to, const void *from, size_t n)
{
	if (codec == CODEC_BFLOAT16)
		kernel_from_bfloat16(to, from, n);
	else if (n > 0)
		memcpy(to, from, n * sizeof(float));
}

float
codec_most(enum codec codec)
{
	return codec == CODEC_BFLOAT16 ? BFLOAT16_MOST : FLT_MAX;
}

size_t
codec_room(enum codec codec, size_t n)
{
	return (n * codec_size(codec) + sizeof(float) - 1) / sizeof(float);
}
