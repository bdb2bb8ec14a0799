/*
 * cache_maker - makes a cache, record by record, while the input is read.
 *
 * A failure to create or write a file is a warning; no more caches are made
 * then (cache->off), so there is only one such warning.
 */
#ifndef PS_CACHE_MAKER_H
#define PS_CACHE_MAKER_H

#include "data/cache.h"
#include "data/cache_file.h"

struct cache_maker {
	struct cache *cache;	/* borrowed; cache->off: make no more */
	const char *path;	/* borrowed */
	struct disk_file to;	/* to.fd is -1 while none is being made */
	struct batch block;	/* records that are not written yet */
	bool batches;		/* as read_spec.batches: records are used in
				   the order in which they are read */
	bool whole;		/* all records of block are of one batch */
	struct sorter sorter;
	uint64_t first;		/* number of the block's first record */
	uint64_t made;		/* records so far, those of block included */
	struct text room;
};

/*
 * Prepare to make caches of the inputs of a spec, one after the other.  The
 * cache and the inputs are borrowed.
 */
void cache_maker_begin(struct cache_maker *, struct cache *,
		       const struct read_spec *);
void cache_maker_release(struct cache_maker *);

/*
 * Create the file of a cache whose first record has the number first; nothing
 * is made if another program is making this file.  The path is borrowed until
 * the cache is committed or abandoned.
 */
void cache_maker_create(struct cache_maker *, const char *path,
			const struct cache_key *, uint64_t first);

/* Is a cache being made whose next record has this number? */
bool cache_maker_wants(const struct cache_maker *, uint64_t number);

/*
 * Keep the record that the caller has read into block, as its next example.
 * Unless the batch is NULL, copy the record into that, too, as the next
 * example, which the caller then counts in batch->examples.
 */
void cache_maker_add(struct cache_maker *, struct batch *);

/*
 * The caller has filled a batch with records that were added.  If they are
 * exactly those of block, and have CACHE_LEAST bytes or more, gather the ids
 * of the batch and write it as a block of its own; a later pass with the same
 * batch size then reads the ids as they were gathered.
 */
void cache_maker_end_batch(struct cache_maker *, struct batch *);

/*
 * All records have been added: complete the file.  The file is dropped if the
 * inputs have changed since the key was made.
 */
void cache_maker_commit(struct cache_maker *, const struct cache_key *,
			const struct cache_input *);

/* Drop the file that is being made, if there is one. */
void cache_maker_abandon(struct cache_maker *);

#endif
