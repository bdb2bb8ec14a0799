/*
 * record_index - keeps how many records a range of a file has, and where they
 * begin, in a file beside the caches of its segments; so the next run need not
 * count them again.  ps-data(5) describes the bytes.
 */
#ifndef PS_RECORD_INDEX_H
#define PS_RECORD_INDEX_H

#include "data/cache_key.h"
#include "data/record_range.h"

/*
 * Read what is kept of a range in files with this key.  true: the tally is set,
 * and the caller frees its place[].  false: nothing is kept, or it is damaged,
 * which is a warning.
 */
bool record_index_read(const struct cache_input *, const struct cache_key *,
		       const struct record_range *,
		       struct record_range_tally *);

/*
 * Keep a tally, unless the files have changed since the key was made.  If the
 * tally cannot be written, the next run counts again.
 */
void record_index_write(const struct cache_input *, const struct cache_key *,
			const struct record_range *,
			const struct record_range_tally *);

#endif
