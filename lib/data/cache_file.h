/*
 * cache_file - the file of a cache: records of an input, in the form in which
 * batches hold them.
 *
 * ps-data(5) describes the bytes.  The header has the key of the input (see
 * cache_key.h); a file with another key is not used.  Records are in blocks
 * with checksums, and a block is used whole or not at all.
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
 * A block ends when its records have CACHE_BLOCK bytes or are CACHE_RECORDS.
 * But records that make up one whole batch are a block of their own, with the
 * batch's ids gathered, if they have CACHE_LEAST to CACHE_BATCH bytes.
 */
#define CACHE_BLOCK	((size_t)256 << 10)
#define CACHE_RECORDS	65536
#define CACHE_BATCH	((size_t)16 << 20)
#define CACHE_LEAST	((size_t)16 << 10)

/*
 * Create the file and write its header.  Return 0; 1 if another program is
 * writing this file; or -1.
 */
int cache_file_create(struct disk_file *, const char *path,
		 const struct cache_key *, struct fail *);

/*
 * Append the examples of a batch as one block; the first of them is record
 * number first.  A batch without examples is the mark of the end: the file has
 * the records before first.  The function uses room for the bytes; the caller
 * passes the same room again, and releases it.  Return 0 or -1.
 */
int cache_file_add(struct disk_file *, const struct batch *, uint64_t first,
	      struct text *room, struct fail *);

/* The header of a block. */
struct cache_block {
	uint64_t first;		/* number of its first record, from 0 */
	uint32_t records;	/* 0: the end */
	uint32_t size;		/* bytes of the block, without this header */
	uint64_t data_sum;	/* XXH3-64 of these bytes */
	uint64_t sum;		/* XXH3-64 of the 24 bytes before it */
};

struct cache_file {
	int fd;			/* -1: none */
	char *path;
	uint64_t at;		/* byte at which the next block begins */
	struct cache_block block;	/* its header, */
	bool peeked;		/* if that has been read */
	uint64_t records;	/* number of the next block's first record */
	struct text room;
};

/*
 * Open a cache whose first record should have the number first.  Return 1; 0
 * if there is none, or if it has another key or version; or -1 if it is
 * damaged.  The caller closes it in each case.
 */
int cache_file_open(struct cache_file *, const char *path,
		    const struct cache_key *, uint64_t first, struct fail *);
void cache_file_close(struct cache_file *);

/*
 * Read the header of the next block.  Return the number of its records, 0 at
 * the end of the file, or -1 if it is damaged.
 */
int64_t cache_file_peek(struct cache_file *, struct fail *);

/* Pass over the next block, which must have been peeked at. */
void cache_file_pass(struct cache_file *);

/*
 * Append the records of the next block, which must have been peeked at and
 * must have some, to a batch.  Return 0, or -1 if the block is damaged.  keep:
 * the batch is empty, and ids that are gathered in the file may stay gathered;
 * else each id is put in its place.
 */
int cache_file_next(struct cache_file *, struct batch *, bool keep,
		    struct fail *);

#endif
