/*
 * block - records that are read at once and used a slice at a time.
 *
 * What the coordinator says of them when it leases a step; the bytes of two
 * blocks are the same if the blocks are.
 */
#ifndef PS_BLOCK_H
#define PS_BLOCK_H

#include "data/record_range.h"
#include "wire/pack.h"

#define BLOCK_IN_ORDER	UINT64_MAX

struct block {
	uint64_t seed;		/* of their order; or BLOCK_IN_ORDER */
	size_t spans;
	struct record_range *span;
};

void block_release(struct block *);

/* The next span of it; the names are copied. */
void block_add(struct block *, const struct record_range *);

void block_write(struct pack *, const struct block *);
int block_read(struct block *, const void *, size_t, struct fail *);

/* One span as a frame: to be counted. */
void block_write_span(struct pack *, const struct record_range *);
int block_read_span(struct record_range *, const void *, size_t, struct fail *);

/* Which record stands where: a permutation of 0 to n - 1. */
void block_order(uint64_t seed, size_t *order, size_t n);

/* How files are to be read, as a frame. */
void block_write_format(struct pack *, const struct record_range_format *);
int block_read_format(struct record_range_format *, const void *, size_t,
		      struct fail *);

#endif
