/*
 * cache_key - what a cache is made of, and where it lies.
 *
 * Two caches have the same key if their bytes would be the same: their inputs
 * are the same files, as they are now, and are read in the same way.
 */
#ifndef PS_CACHE_KEY_H
#define PS_CACHE_KEY_H

#include "data/format.h"

#include <stdbool.h>
#include <stdint.h>

/* It is compared, and written, as bytes. */
struct cache_key {
	struct cache_stat {
		uint64_t size;
		int64_t modified[2], changed[2];	/* seconds, and ns */
	} file[2];	/* the second is of labels, or zero */
	char way[32];	/* hexadecimal digits: the hash of how it is read */
};

/* All is borrowed. */
struct cache_input {
	const char *folder;	/* of caches; "": beside each input */
	const struct format *format;
	const struct read_spec *want;
	char *const *files;
	size_t count;		/* of files that are read together */
};

struct cache_input cache_input(const char *folder, const struct format *,
			       const struct read_spec *, char *const *files);

/* false: one of the files is not there, or is no plain file. */
bool cache_key_make(struct cache_key *, const struct cache_input *);

/* Are the files still what they were? */
bool cache_key_holds(const struct cache_key *, const struct cache_input *);

/* Of which records: "", all of them, or a name for those.  Free it. */
char *cache_key_path(const struct cache_key *, const struct cache_input *,
		     const char *which);

#endif
