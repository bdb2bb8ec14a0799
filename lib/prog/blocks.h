/*
 * blocks - read what the coordinator leases, in a thread of their own: blocks
 * ahead of the steps that take slices of them.  A few are kept, since steps
 * of two may come in turn.
 */
#ifndef PS_BLOCKS_H
#define PS_BLOCKS_H

#include "data/record_range.h"
#include "model/model.h"
#include "wire/message.h"

struct blocks;

/*
 * All is borrowed.  max_bad: malformed records that are passed over, in all.
 * cache: a folder, "" for beside the files, NULL for none.  kept: so many
 * blocks at a time.
 */
struct blocks *blocks_new(const struct model *,
			  const struct record_range_format *, uint64_t max_bad,
			  const char *cache, size_t kept);
void blocks_free(struct blocks *);

/* It becomes readable when something has been read. */
int blocks_fd(const struct blocks *);

/* Frames of the blocks that are needed, the most urgent first. */
void blocks_want(struct blocks *, const struct frame *, size_t count);

/*
 * Append up to count of a block's records from its record number from on to a
 * batch.  1: here they are; 0: not yet; -1: the block cannot be read; it will
 * be tried again if it is still wanted.
 */
int blocks_slice(struct blocks *, const struct frame *block, uint64_t from,
		 uint64_t count, struct batch *, struct fail *);

/* Has it been read, or has that failed? */
bool blocks_have(struct blocks *, const struct frame *block);

/* Begin to count a span; false: something is being read, try again. */
bool blocks_count(struct blocks *, const struct frame *span);
/* 1: it is counted, free its places; 0: not yet; -1. */
int blocks_counted(struct blocks *, struct record_range_tally *, struct fail *);

#endif
