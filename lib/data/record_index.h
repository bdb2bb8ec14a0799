/*
 * record_index - how many records a part of a file has, and where: kept beside
 * the caches of its segments, so that the next run need not look for them
 * again.
 */
#ifndef PS_RECORD_INDEX_H
#define PS_RECORD_INDEX_H

#include "data/cache_key.h"
#include "data/record_range.h"

/* Of a span in files of that key: true, free the places; or none is kept. */
bool record_index_read(const struct cache_input *, const struct cache_key *,
		       const struct record_range *,
		       struct record_range_tally *);

/*
 * Keep what was counted in them, if they are still the same.
 * That it cannot be kept is no harm: it will be counted again.
 */
void record_index_write(const struct cache_input *, const struct cache_key *,
			const struct record_range *,
			const struct record_range_tally *);

#endif
