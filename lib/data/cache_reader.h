/*
 * cache_reader - records out of a cache, which has them in blocks.
 */
#ifndef PS_CACHE_READER_H
#define PS_CACHE_READER_H

#include "data/cache_file.h"

struct cache_reader {
	struct cache_file from;
	bool batches;		/* are read, and used as they are */
	struct batch block;	/* one that was not wanted whole, */
	size_t used;		/* so many records of which were */
};

void cache_reader_begin(struct cache_reader *, const struct read_spec *);
void cache_reader_release(struct cache_reader *);

/* The cache at that path, whose first record has this number: true. */
bool cache_reader_open(struct cache_reader *, const char *path,
		       const struct cache_key *, const struct cache_input *,
		       uint64_t first);

/* It is damaged, for that reason: that is a warning, and it is removed. */
void cache_reader_refuse(struct cache_reader *, const char *path,
			 const struct cache_input *, const struct fail *why);

/* Number of the next record. */
uint64_t cache_reader_at(const struct cache_reader *);

/* Go to that one, which is not behind us: 0; -1: it is damaged. */
int cache_reader_seek(struct cache_reader *, uint64_t number, struct fail *);

/*
 * Put the next records behind the examples of the batch, for the caller to
 * count, or pass over them if it is NULL: how many, up to most; 0: there are
 * no more; -1: it is damaged.
 */
int64_t cache_reader_next(struct cache_reader *, struct batch *, size_t most,
			  struct fail *);

#endif
