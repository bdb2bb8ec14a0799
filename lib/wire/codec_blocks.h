/*
 * codec_blocks - how codecs cut a variable that is not a table into blocks.
 *
 * Blocks are counted from the variable's first element on, so that they do not
 * depend on how the variable is cut into pieces.  A run is the part of a block
 * that lies in a slice: the whole block, unless the slice is a piece that
 * begins or ends inside the block.
 */
#ifndef PS_CODEC_BLOCKS_H
#define PS_CODEC_BLOCKS_H

#include "wire/codec.h"

struct codec_run {
	size_t at, count;	/* place in the slice, and numbers */
	size_t inside;		/* numbers of the block before the run */
};

size_t codec_runs(struct codec_slice, size_t block);
struct codec_run codec_run(struct codec_slice, size_t block, size_t k);

/* Returns where the whole block of a run begins, and sets *count to its
   numbers; from is where the slice begins.  Numbers of the block that belong to
   another piece lie in memory before or behind the slice. */
const float *codec_whole_block(const float *from, struct codec_slice,
			       size_t block, struct codec_run, size_t *count);

/*
 * A format in which a block of zeros, all of them +0, takes one bit.  First a
 * bit for each run, lowest bit first, set if the run has bytes; then the bytes
 * of those runs; then a byte of 0 if the sum is odd.
 */
struct codec_sparse {
	size_t block;
	/* The most bytes that a run of count numbers can have. */
	size_t (*size)(struct codec_slice, size_t count);
	/* Returns the end of the run that was written. */
	char *(*encode)(char *to, const float *from, struct codec_slice,
			struct codec_run);
	/* Returns the bytes of the run at from, where left bytes lie; 0: they
	   are malformed, or cut short. */
	size_t (*length)(const char *from, size_t left, struct codec_run);
	/* to: where the first number of the run is. */
	void (*add)(float *to, const char *from, struct codec_run);
	bool (*finite)(const char *from);
};

/* What the functions of wire/codec.h do, for such a format. */
size_t codec_sparse_most(const struct codec_sparse *, struct codec_slice);
bool codec_sparse_length(const struct codec_sparse *, const void *from,
			 size_t left, struct codec_slice, size_t *bytes);
size_t codec_sparse_encode(const struct codec_sparse *, void *to,
			   const float *from, struct codec_slice);
size_t codec_sparse_decode(const struct codec_sparse *, float *to,
			   const void *from, struct codec_slice);
size_t codec_sparse_add(const struct codec_sparse *, float *to,
			const void *from, struct codec_slice);
bool codec_sparse_finite(const struct codec_sparse *, const void *from,
			 struct codec_slice);

#endif
