/*
 * segments - caches of a file of which a reader reads but some places.
 *
 * A segment holds SEGMENT_RECORDS records, or those up to the end of a split.
 * It is known by a byte, at which a record begins, and by how many records lie
 * between that and its first one: so it is right whoever numbers the records,
 * and however.  Who reads the first record of a segment makes it.
 */
#ifndef PS_CACHE_SEGMENT_H
#define PS_CACHE_SEGMENT_H

#include "data/cache.h"

#define SEGMENT_RECORDS	((uint64_t)32768)

struct cache_segments;

/* A record: so many behind the one that begins at a byte. */
struct segment_place {
	uint64_t origin, inside;
};

/* All is borrowed.  NULL: the file is none that is kept. */
struct cache_segments *cache_segments_new(struct cache *, const struct format *,
					  const struct read_spec *,
					  char *const *files);
void cache_segments_free(struct cache_segments *);

/*
 * Put the record of that place, and up to most in all of its segment, behind
 * the examples of the batch, for the caller to count.  How many; 0: that one
 * is not kept.
 */
size_t cache_segments_read(struct cache_segments *, struct segment_place,
			   struct batch *, size_t most);

/*
 * Where that record is to be read, as it will be kept; NULL: it will not.
 * size: of its segment.
 */
struct batch *cache_segments_room(struct cache_segments *, struct segment_place,
				  uint64_t size);

/* Does a segment that is being made go on with that record? */
bool cache_segments_wants(const struct cache_segments *, struct segment_place);

/*
 * It was read there: keep it, and put it into the batch if not NULL.  sure:
 * it lies where the segment says; or nothing comes of that.
 */
void cache_segments_add(struct cache_segments *, struct batch *, bool sure);

/* Nothing comes of what is being made. */
void cache_segments_abandon(struct cache_segments *);

#endif
