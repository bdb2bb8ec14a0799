/*
 * codec - how values and gradients travel: in memory they are floats.
 *
 * A bfloat16 has a float's range and 8 bits of what it is, in half the bytes;
 * see kernel_to_bfloat16().  It is little-endian, as floats are.
 */
#ifndef PS_CODEC_H
#define PS_CODEC_H

#include <stddef.h>

enum codec { CODEC_FLOAT32, CODEC_BFLOAT16, CODECS };

const char *codec_name(enum codec);

/* Bytes of one. */
size_t codec_size(enum codec);

/* Aligned to codec_size(); n may be 0. */
void codec_write(enum codec, void *to, const float *from, size_t n);
/* From any address. */
void codec_read(enum codec, float *to, const void *from, size_t n);

/* The largest float that comes to something finite. */
float codec_most(enum codec);

/* So many floats have room for n that have been written. */
size_t codec_room(enum codec, size_t n);

#endif
