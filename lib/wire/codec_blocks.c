#include "wire/codec_blocks.h"

#include "tensor/kernels.h"

#include <string.h>

size_t
codec_runs(struct codec_slice s, size_t block)
{
	return s.rows == 0 ? 0 :
		(s.first % block + s.rows + block - 1) / block;
}

struct codec_run
codec_run(struct codec_slice s, size_t block, size_t k)
{
	const size_t before = s.first % block;
	const size_t begin = k == 0 ? 0 : k * block - before;
	const size_t end = (k + 1) * block - before;

	return (struct codec_run){ begin,
				   (end < s.rows ? end : s.rows) - begin,
				   k == 0 ? before : 0 };
}

const float *
codec_whole_block(const float *from, struct codec_slice s, size_t block,
		  struct codec_run r, size_t *count)
{
	*count = r.count;
	if (s.of > 0) {
		const size_t left = s.of - (s.first + r.at - r.inside);

		*count = left < block ? left : block;
	}
	return from + r.at - r.inside;
}

/* ---- the format in which a block of zeros is a bit ---- */

static size_t
bitmap_size(size_t runs)
{
	return (runs + 7) / 8;
}

static bool
has_bit(const void *bitmap, size_t k)
{
	return ((const unsigned char *)bitmap)[k / 8] >> k % 8 & 1;
}

static size_t
round_to_even(size_t bytes)
{
	return bytes + bytes % 2;
}

size_t
codec_sparse_most(const struct codec_sparse *c, struct codec_slice s)
{
	const size_t runs = codec_runs(s, c->block);
	size_t bytes = bitmap_size(runs);

	for (size_t k = 0; k < runs; k++)
		bytes += c->size(s, codec_run(s, c->block, k).count);
	return round_to_even(bytes);
}

/* The first run from k on that has bytes; runs: there is none. */
static size_t
next_run(const void *bitmap, size_t k, size_t runs)
{
	while (k < runs && !has_bit(bitmap, k))
		k++;
	return k;
}

bool
codec_sparse_length(const struct codec_sparse *c, const void *from,
		    size_t left, struct codec_slice s, size_t *bytes)
{
	const size_t runs = codec_runs(s, c->block);
	const char *bytes_at = from;
	size_t at = bitmap_size(runs), size;

	if (at > left || (runs % 8 > 0 && (bytes_at[at - 1] &
					   0xff << runs % 8 & 0xff) != 0))
		return false;
	for (size_t k = next_run(from, 0, runs); k < runs;
	     k = next_run(from, k + 1, runs)) {
		size = c->length(bytes_at + at, left - at,
				 codec_run(s, c->block, k));
		if (size == 0)
			return false;
		at += size;
	}
	*bytes = round_to_even(at);
	return *bytes <= left && (at == *bytes || bytes_at[at] == 0);
}

size_t
codec_sparse_encode(const struct codec_sparse *c, void *to, const float *from,
		    struct codec_slice s)
{
	const size_t runs = codec_runs(s, c->block);
	unsigned char *bitmap = to;
	char *at = (char *)to + bitmap_size(runs);

	memset(bitmap, 0, bitmap_size(runs));
	for (size_t k = 0; k < runs; k++) {
		const struct codec_run r = codec_run(s, c->block, k);
		size_t count;
		const float *whole = codec_whole_block(from, s, c->block, r,
						       &count);

		if (kernel_is_zero(whole, count))
			continue;
		bitmap[k / 8] |= (unsigned char)(1 << k % 8);
		at = c->encode(at, from, s, r);
	}
	if ((at - (char *)to) % 2)
		*at++ = 0;
	return (size_t)(at - (char *)to);
}

/* Add the numbers of each run that has bytes; without `add' the floats are set
   to zeros first.  Returns the bytes of all runs. */
static size_t
decode_runs(const struct codec_sparse *c, float *to, const void *from,
	    struct codec_slice s, bool add)
{
	const size_t runs = codec_runs(s, c->block);
	const char *at = (const char *)from + bitmap_size(runs);

	for (size_t k = 0; k < runs; k++) {
		const struct codec_run r = codec_run(s, c->block, k);

		if (!add)
			memset(to + r.at, 0, r.count * sizeof(*to));
		if (!has_bit(from, k))
			continue;
		c->add(to + r.at, at, r);
		at += c->length(at, SIZE_MAX, r);
	}
	return round_to_even((size_t)(at - (const char *)from));
}

size_t
codec_sparse_decode(const struct codec_sparse *c, float *to, const void *from,
		    struct codec_slice s)
{
	return decode_runs(c, to, from, s, false);
}

size_t
codec_sparse_add(const struct codec_sparse *c, float *to, const void *from,
		 struct codec_slice s)
{
	return decode_runs(c, to, from, s, true);
}

bool
codec_sparse_finite(const struct codec_sparse *c, const void *from,
		    struct codec_slice s)
{
	const size_t runs = codec_runs(s, c->block);
	const char *at = (const char *)from + bitmap_size(runs);
	bool all = true;

	for (size_t k = next_run(from, 0, runs); k < runs;
	     k = next_run(from, k + 1, runs)) {
		all = all && c->finite(at);
		at += c->length(at, SIZE_MAX, codec_run(s, c->block, k));
	}
	return all;
}
