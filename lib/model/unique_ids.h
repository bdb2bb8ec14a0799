/*
 * unique_ids - which rows of a table a batch needs.
 *
 * The ids of a feature, or of several that look up the same table, sorted,
 * each once, and for each place which of them stands there.  A second batch
 * reuses the room of the first; what is needed only while it is done can be
 * shared by many.
 */
#ifndef PS_UNIQUE_IDS_H
#define PS_UNIQUE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unique_ids {		/* { 0 } is empty */
	uint64_t *id;		/* count: sorted, each once */
	uint32_t *row;		/* id[row[i]] is what stands at place i */
	size_t count;
	size_t room;		/* of both arrays */
};

struct sorter {			/* { 0 }, too */
	uint64_t *key, *word, *other;	/* while sorting */
	size_t room;
	uint64_t *mark;			/* instead: a bit for each id, */
	uint32_t *below;		/* and how many below each word */
	size_t mark_room;
	uint32_t *low, *high;		/* ids that were joined */
	size_t low_room, high_room;
	bool joined_high;		/* not all upper halves are 0 */
};

void unique_ids_release(struct unique_ids *);
/* For n places, to be filled by whoever knows what stands there. */
void unique_ids_room(struct unique_ids *, size_t n);
void sorter_release(struct sorter *);

/* As a feature has them: in halves, the upper ones NULL if all are 0. */
struct ids {
	const uint32_t *low, *high;
};

static inline uint64_t
ids_at(struct ids ids, size_t i)
{
	return ids.low[i] | (ids.high ? (uint64_t)ids.high[i] << 32 : 0);
}

/*
 * Put n ids behind so many that were joined before, the first ones at 0; and
 * all of them, good until others are.
 */
void ids_join(struct sorter *, size_t at, struct ids, size_t n);
struct ids ids_joined(const struct sorter *);

/* Of n ids, at most UINT32_MAX, all below a limit; 0: they may be any. */
void unique_ids_find(struct unique_ids *, struct sorter *, struct ids, size_t n,
		     uint64_t limit);

/* Of a hashed table: the keys of the ids in their place. */
void unique_ids_keys(struct unique_ids *, struct sorter *, struct ids,
		     size_t n);

#endif
