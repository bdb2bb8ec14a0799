/*
 * block - a list of record ranges that a worker reads at once and uses in
 * slices, one slice a step.
 *
 * The coordinator sends a block, as a frame, when it leases a step.  Equal
 * blocks have equal bytes, so bytes can be compared instead.  ps-wire(7) has
 * the frames; it calls a record range a span.
 */
#ifndef PS_BLOCK_H
#define PS_BLOCK_H

#include "data/record_range.h"
#include "wire/pack.h"

#define BLOCK_IN_ORDER	UINT64_MAX

struct block {
	uint64_t seed;		/* of the records' order, or BLOCK_IN_ORDER */
	size_t spans;
	struct record_range *span;
};

void block_release(struct block *);

/* Append a range; its names are copied. */
void block_add(struct block *, const struct record_range *);

/*
 * Write a block as a frame, and read one from size bytes.  A block that was
 * read is the caller's to release; -1 (FAIL_PROTOCOL): it is malformed, and
 * there is nothing to release.
 */
void block_write(struct pack *, const struct block *);
int block_read(struct block *, const void *, size_t, struct fail *);

/* The same for one range: the frame in which the coordinator names the records
   that a worker has to count. */
void block_write_span(struct pack *, const struct record_range *);
int block_read_span(struct record_range *, const void *, size_t, struct fail *);

/*
 * Compute the order in which the n records of a block are used: order[i] is
 * the number of the record at position i.  The order is a permutation of 0 to
 * n - 1 that depends only on the seed and n; with BLOCK_IN_ORDER, order[i] is
 * i.
 */
void block_order(uint64_t seed, size_t *order, size_t n);

/*
 * The same for the format of the files, of which only the name and no_header
 * travel, and for the data sets that are read so, a bit for each.  A name that
 * was read is the caller's to free.
 */
void block_write_format(struct pack *, const struct record_range_format *,
			uint64_t datasets);
int block_read_format(struct record_range_format *, uint64_t *datasets,
		      const void *, size_t, struct fail *);

#endif
