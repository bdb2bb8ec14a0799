/*
 * cache_segment - caches of parts of a file, for a worker that reads only the
 * records that it is leased.
 *
 * A segment holds SEGMENT_RECORDS records, or fewer at the end of a split.  Its
 * name is a byte of the file at which a record begins, and the number of
 * records between this byte and the segment's first record.  The name does not
 * depend on how many records lie before that byte, so it stays right when a
 * coordinator counts records in another way.  The worker that reads the first
 * record of a segment makes the segment.
 */
#ifndef PS_CACHE_SEGMENT_H
#define PS_CACHE_SEGMENT_H

#include "data/cache.h"

#define SEGMENT_RECORDS	((uint64_t)32768)

struct cache_segments;

/* The place of a record: the byte at which some record begins, and the number
   of records from that one to this one. */
struct segment_place {
	uint64_t origin, inside;
};

/*
 * Return the segments of one file, or of a file and its labels.  All arguments
 * are borrowed.  NULL: the file is not a plain file, and is not cached.
 */
struct cache_segments *cache_segments_new(struct cache *, const struct format *,
					  const struct read_spec *,
					  char *const *files);
void cache_segments_free(struct cache_segments *);

/*
 * Append up to most records of one segment, from a place on, to the batch.
 * Return how many, for the caller to add to batch->examples; 0: no cache has
 * the record of this place.
 */
size_t cache_segments_read(struct cache_segments *, struct segment_place,
			   struct batch *, size_t most);

/*
 * Return the batch into which the caller must read the record of this place, as
 * the next example, because the segment that is being made continues with it;
 * NULL: no segment does.  The first record of a segment begins a new one, of
 * size records, and drops one that is not complete.
 */
struct batch *cache_segments_room(struct cache_segments *, struct segment_place,
				  uint64_t size);

/* Does the segment that is being made continue with this record? */
bool cache_segments_wants(const struct cache_segments *, struct segment_place);

/*
 * Keep the record that the caller has read into that batch, and, unless the
 * other batch is NULL, copy it into that, as for cache_maker_add().  The last
 * record of the segment completes it.  sure: the caller has verified that the
 * record lies at its place; if not, the segment is dropped.
 */
void cache_segments_add(struct cache_segments *, struct batch *, bool sure);

/* Drop the segment that is being made, if there is one. */
void cache_segments_abandon(struct cache_segments *);

#endif
