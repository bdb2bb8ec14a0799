/*
 * cache_maker - a cache in the making, record by record.
 *
 * What cannot be made or written is a warning, once, and no cache.
 */
#ifndef PS_CACHE_MAKER_H
#define PS_CACHE_MAKER_H

#include "data/cache.h"
#include "data/cache_file.h"

struct cache_maker {
	struct cache *cache;	/* borrowed: are there any to be made? */
	const char *path;	/* borrowed */
	struct disk_file to;
	struct batch block;	/* records that are not written yet, */
	bool batches;		/* are read, and used as they are */
	bool whole;		/* that is the beginning of one, or all of it */
	struct sorter sorter;
	uint64_t first;		/* number of the first one of them */
	uint64_t made;		/* records, with these */
	struct text room;
};

/* For caches of what is wanted, one after the other. */
void cache_maker_begin(struct cache_maker *, struct cache *,
		       const struct read_spec *);
void cache_maker_release(struct cache_maker *);

/* Begin one with record first, unless somebody else is making it there. */
void cache_maker_create(struct cache_maker *, const char *path,
			const struct cache_key *, uint64_t first);

/* Is one being made, and is this the next record of it? */
bool cache_maker_wants(const struct cache_maker *, uint64_t number);

/*
 * The next record has been put behind the examples of the block: copy it into
 * a batch, for the caller to count, if that is not NULL, and keep it.
 */
void cache_maker_add(struct cache_maker *, struct batch *);

/*
 * This batch was made of what was read.  If it is not small its ids are
 * gathered, and it has a block of its own: whoever reads such batches again
 * gets them so.
 */
void cache_maker_end_batch(struct cache_maker *, struct batch *);

/* It has all of its records, of files that are what they were; or none. */
void cache_maker_commit(struct cache_maker *, const struct cache_key *,
			const struct cache_input *);
void cache_maker_abandon(struct cache_maker *);

#endif
