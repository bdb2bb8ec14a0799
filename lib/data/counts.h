/*
 * counts - how many records a part of a file has, and where: kept beside the
 * caches of its pieces, so that the next run need not look for them again.
 */
#ifndef PS_COUNTS_H
#define PS_COUNTS_H

#include "data/cache_key.h"
#include "data/span.h"

/* Of a span in files of that key: true, free the places; or none is kept. */
bool counts_read(const struct cache_input *, const struct cache_key *,
		 const struct span *, struct span_tally *);

/*
 * Keep what was counted in them, if they are still the same.
 * That it cannot be kept is no harm: it will be counted again.
 */
void counts_write(const struct cache_input *, const struct cache_key *,
		  const struct span *, const struct span_tally *);

#endif
