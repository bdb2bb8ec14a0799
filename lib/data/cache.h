/*
 * cache - read an input's records from its cache, or make one on the way.
 *
 * It stands between the reader and a format, record by record, so that
 * sharding, shuffling and batches are the same with it and without.  Whatever
 * is wrong with a cache is a warning: the input itself is read then.  That a
 * folder is named in vain is told before any work: see cache_probe().
 */
#ifndef PS_CACHE_H
#define PS_CACHE_H

#include "data/format.h"

struct cache {
	const char *folder;	/* borrowed; "": beside each input */
	bool off;		/* none is made any more, as that failed */
};

/* Can there be caches in the folder?  NULL and "" are none.  Or -1. */
int cache_probe(const char *folder, struct fail *);

/* As the format's open, and *format is then what reads and closes. */
void *cache_open(struct cache *, const struct format **format,
		 const struct read_spec *, char *const *files, struct fail *);

#endif
