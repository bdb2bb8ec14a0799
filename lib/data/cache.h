/*
 * cache - reads the records of an input from its cache; without a cache, reads
 * the input and makes one on the way.
 *
 * A cache stands between the reader and a format, and passes on one record
 * after the other; so shards, shuffling and batches are the same with a cache
 * and without.  A cache that is damaged or cannot be written is only a
 * warning, and the input itself is read.  A folder that cannot hold caches is
 * refused before any work begins: see cache_probe().
 */
#ifndef PS_CACHE_H
#define PS_CACHE_H

#include "data/format.h"

struct cache {
	const char *folder;	/* borrowed; "": beside each input */
	bool off;		/* making one failed: make no more */
};

/*
 * Check that caches can be made in a folder.  Return 0, or -1 (FAIL_CREATE).
 * NULL (no caches) and "" (caches beside the inputs) are not checked.
 */
int cache_probe(const char *folder, struct fail *);

/*
 * Open an input as the open of *format would, but through a cache.  *format is
 * set to the format by which the caller reads and closes the state that is
 * returned.  NULL: the input cannot be opened.
 */
void *cache_open(struct cache *, const struct format **format,
		 const struct read_spec *, char *const *files, struct fail *);

#endif
