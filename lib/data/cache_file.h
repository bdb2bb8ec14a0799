/*
 * cache_file - records of an input in the form in which batches hold them.
 *
 * The file is described in ps-data(5).  It says what it was made of, and is
 * trusted only as far as it says the same as its reader; blocks of records
 * have checksums, and are used whole or not at all.
 */
#ifndef PS_CACHE_FILE_H
#define PS_CACHE_FILE_H

#include "base/fail.h"
#include "base/text.h"
#include "data/cache_key.h"
#include "model/batch.h"
#include "store/disk.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A block is written once it is that large, or so many records.  It is one
 * batch, with its ids gathered, if that is not small.
 */
#define CACHE_BLOCK	((size_t)256 << 10)
#define CACHE_RECORDS	65536
#define CACHE_BATCH	((size_t)16 << 20)	/* at most, */
#define CACHE_LEAST	((size_t)16 << 10)	/* and at least */

/* 0; 1: somebody else is writing it; -1. */
int cache_file_create(struct disk_file *, const char *path,
		 const struct cache_key *, struct fail *);

/*
 * The examples of a batch are records from first on; none says that those
 * before first are all.  room is for the bytes, and can be used again.
 */
int cache_file_add(struct disk_file *, const struct batch *, uint64_t first,
	      struct text *room, struct fail *);

/* What stands before each block. */
struct cache_block {
	uint64_t first;		/* number of its first record, from 0 */
	uint32_t records;	/* 0: the end */
	uint32_t size;		/* bytes that follow */
	uint64_t data_sum;	/* XXH3-64 of these */
	uint64_t sum;		/* of what is before */
};

struct cache_file {
	int fd;			/* -1: none */
	char *path;
	uint64_t at;		/* of the next block, */
	struct cache_block block;	/* which is this one */
	bool peeked;		/* if that has been looked at */
	uint64_t records;	/* number of its first one */
	struct text room;
};

/*
 * 1: it is there, and of that, and is to begin with record first; 0: it is
 * not; -1: it is damaged.
 */
int cache_file_open(struct cache_file *, const char *path,
		    const struct cache_key *, uint64_t first, struct fail *);
void cache_file_close(struct cache_file *);

/* How many records the next block has; 0: no more; -1: it is damaged. */
int64_t cache_file_peek(struct cache_file *, struct fail *);

/* Pass over that block, which has been looked at. */
void cache_file_pass(struct cache_file *);

/*
 * Append that block, if it has records, to a batch: 0; -1: it is damaged.
 * keep: the batch is empty, and can have ids as they were gathered.
 */
int cache_file_next(struct cache_file *, struct batch *, bool keep,
		    struct fail *);

#endif
