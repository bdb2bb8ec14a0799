/*
 * blocks - read the records that the coordinator leases, in a thread of their
 * own.
 *
 * A block of records is read ahead of the steps that take slices of it.  A few
 * blocks are kept, since the steps of two blocks may alternate.
 */
#ifndef PS_BLOCKS_H
#define PS_BLOCKS_H

#include "data/record_range.h"
#include "model/model.h"
#include "wire/message.h"

struct blocks;

/*
 * Return a reader of blocks of a data set of the model, which the caller frees.
 * All arguments are borrowed.  max_bad is the number of malformed records to
 * pass over, in all.  cache is a folder, "" for beside the files, or NULL for
 * no cache.  cached is the number of blocks that are kept in memory.  NULL: the
 * failures of task_thread().
 */
struct blocks *blocks_new(const struct model *, size_t dataset,
			  const struct record_range_format *, uint64_t max_bad,
			  const char *cache, size_t cached, struct fail *);
void blocks_free(struct blocks *);

/* Return a descriptor that is readable when something has been read. */
int blocks_fd(const struct blocks *);

/*
 * Say which blocks are needed, as frames of the coordinator, the most urgent
 * first.  One at a time is read.
 */
void blocks_want(struct blocks *, const struct frame *, size_t count);

/*
 * Append up to count records of a block, from its record number `from` on, to a
 * batch.  Return 1; 0 if the block has not been read yet; or -1 with the reason
 * if it cannot be read, or all of these records are bad.  A block that cannot
 * be read is tried again if it is still wanted.
 */
int blocks_slice(struct blocks *, const struct frame *block, uint64_t from,
		 uint64_t count, struct batch *, struct fail *);

/* Return whether a block has been read, or could not be. */
bool blocks_have(struct blocks *, const struct frame *block);

/*
 * Begin to count the records of a range.  Return false if something is being
 * read: try again later.
 */
bool blocks_count(struct blocks *, const struct frame *span);
/*
 * Return 1 if the range has been counted, and set the tally, whose places the
 * caller frees; 0 if not yet; -1 with the reason if it cannot be read.
 */
int blocks_counted(struct blocks *, struct record_range_tally *, struct fail *);

#endif
