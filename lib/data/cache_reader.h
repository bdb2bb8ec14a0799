/*
 * cache_reader - reads single records of a cache, whose file has blocks.
 */
#ifndef PS_CACHE_READER_H
#define PS_CACHE_READER_H

#include "data/cache_file.h"

struct cache_reader {
	struct cache_file from;
	bool batches;		/* as read_spec.batches */
	struct batch block;	/* a block that was not wanted as a whole */
	size_t used;		/* records of it that are used up */
};

/* Prepare to read caches of the inputs of a spec, which are borrowed. */
void cache_reader_begin(struct cache_reader *, const struct read_spec *);
void cache_reader_release(struct cache_reader *);

/*
 * Open the cache at a path, whose first record should have the number first.
 * false: there is none with this key.  A damaged one is refused, as below.
 */
bool cache_reader_open(struct cache_reader *, const char *path,
		       const struct cache_key *, const struct cache_input *,
		       uint64_t first);

/* The cache is damaged: close it, warn why, and remove its file. */
void cache_reader_refuse(struct cache_reader *, const char *path,
			 const struct cache_input *, const struct fail *why);

/* Return the number of the next record. */
uint64_t cache_reader_at(const struct cache_reader *);

/*
 * Go forward to the record with that number, which must not be below
 * cache_reader_at().  Return 0, or -1 if the cache is damaged.
 */
int cache_reader_seek(struct cache_reader *, uint64_t number, struct fail *);

/*
 * Append up to most of the next records to the batch, or pass over them if it
 * is NULL.  Return how many, for the caller to add to batch->examples; 0 after
 * the last record; or -1 if the cache is damaged.
 */
int64_t cache_reader_next(struct cache_reader *, struct batch *, size_t most,
			  struct fail *);

#endif
