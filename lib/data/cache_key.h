/*
 * cache_key - identifies the input of a cache, and names the cache's file.
 *
 * Two caches have the same key if their bytes would be the same: their inputs
 * are the same files, with the same sizes and times, and are read in the same
 * way.
 */
#ifndef PS_CACHE_KEY_H
#define PS_CACHE_KEY_H

#include "data/format.h"

#include <stdbool.h>
#include <stdint.h>

/* A key is compared and written as bytes, so it has no gaps. */
struct cache_key {
	struct cache_stat {
		uint64_t size;
		int64_t modified[2], changed[2];	/* seconds, and ns */
	} file[2];	/* the second: of the file of labels, or zero */
	char way[32];	/* hexadecimal digits of a hash of the format, its
			   options, and what the model reads of a record */
};

/* The input of a cache.  All pointers are borrowed. */
struct cache_input {
	const char *folder;	/* of caches; "": beside each input */
	const struct format *format;
	const struct read_spec *want;
	char *const *files;
	size_t count;		/* of files: 2 with a file of labels, else 1 */
};

/* Return this struct, with the number of files that are read together. */
struct cache_input cache_input(const char *folder, const struct format *,
			       const struct read_spec *, char *const *files);

/* Compute the key.  false: a file is missing, or is not a plain file. */
bool cache_key_make(struct cache_key *, const struct cache_input *);

/* Do the files still have the sizes and times that are in the key? */
bool cache_key_holds(const struct cache_key *, const struct cache_input *);

/*
 * Return the path of a cache, to be freed by the caller.  The text that says
 * which records it has becomes a part of the name: "" for all records, or, for
 * example, ".0+32768" for those of one segment.
 */
char *cache_key_path(const struct cache_key *, const struct cache_input *,
		     const char *which);

#endif
