#include "wire/codec.h"

#include "wire/codec_blocks.h"

#include <assert.h>

#define ADDRESS(name)	&codec_##name,
static const struct codec *const table[] = {
	CODEC_TABLE(ADDRESS, ADDRESS)
};

const struct codec *
codec_find(uint64_t number)
{
	return number < CODECS ? table[number] : NULL;
}

uint64_t
codec_number(const struct codec *codec)
{
	uint64_t number = 0;

	while (table[number] != codec) {
		number++;
		assert(number < CODECS);
	}
	return number;
}

/* Codecs that encode blocks are for gradients and differences of what is not a
   table. */
const struct codec *
codec_for(const struct codec *c, struct codec_slice s)
{
	if (c->sparse)
		return (s.difference || !s.pulled) && !s.table && !s.exact ?
			c : &codec_float32;
	return c->as ? c->as(s) : c;
}

size_t
codec_most(const struct codec *c, struct codec_slice s)
{
	return c->sparse ? codec_sparse_most(c->sparse, s) : c->size(s);
}

bool
codec_length(const struct codec *c, const void *from, size_t left,
	     struct codec_slice s, size_t *bytes)
{
	if (c->sparse)
		return codec_sparse_length(c->sparse, from, left, s, bytes);
	*bytes = c->size(s);
	return *bytes <= left;
}

size_t
codec_encode(const struct codec *c, void *to, const float *from,
	     struct codec_slice s)
{
	if (c->sparse)
		return codec_sparse_encode(c->sparse, to, from, s);
	c->encode(to, from, s);
	return c->size(s);
}

size_t
codec_decode(const struct codec *c, float *to, const void *from,
	     struct codec_slice s)
{
	if (c->sparse)
		return codec_sparse_decode(c->sparse, to, from, s);
	c->decode(to, from, s);
	return c->size(s);
}

size_t
codec_add(const struct codec *c, float *to, const void *from,
	  struct codec_slice s)
{
	if (c->sparse)
		return codec_sparse_add(c->sparse, to, from, s);
	c->add(to, from, s);
	return c->size(s);
}

bool
codec_finite(const struct codec *c, const void *from, struct codec_slice s)
{
	return c->sparse ? codec_sparse_finite(c->sparse, from, s) :
		c->finite(from, s);
}
