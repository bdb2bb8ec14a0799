/*
 * unique_ids - which rows of a table a batch needs.
 *
 * The ids of a feature, or of several that look up the same table: sorted, each
 * once, and for each place the index of its id.  The memory is reused for the
 * next batch; a sorter has the memory that is needed only during a call, and
 * can serve many.
 */
#ifndef PS_UNIQUE_IDS_H
#define PS_UNIQUE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unique_ids {		/* { 0 } is empty */
	uint64_t *id;		/* count ids: sorted, each once */
	uint32_t *row;		/* id[row[i]] is the id at place i */
	size_t count;
	size_t room;		/* of both arrays */
};

struct sorter {			/* { 0 } is empty */
	uint64_t *key, *word, *other;	/* for sorting */
	size_t room;
	uint64_t *mark;			/* for marking: a bit for each id, */
	uint32_t *below;		/* and how many bits are below each
					   word */
	size_t mark_room;
	uint32_t *low, *high;		/* ids that were joined */
	size_t low_room, high_room;
	bool joined_high;		/* some upper half is not 0 */
};

void unique_ids_release(struct unique_ids *);
/* Make room for n places; the caller fills them in. */
void unique_ids_room(struct unique_ids *, size_t n);
void sorter_release(struct sorter *);

/*
 * Ids as a feature has them: lower halves, and upper ones, NULL if all are 0.
 */
struct ids {
	const uint32_t *low, *high;
};

static inline uint64_t
ids_at(struct ids ids, size_t i)
{
	return ids.low[i] | (ids.high ? (uint64_t)ids.high[i] << 32 : 0);
}

/*
 * Append n ids behind the `at` ids that were joined before; at is 0 for the
 * first.  ids_joined() returns all of them, good until the next ids_join().
 */
void ids_join(struct sorter *, size_t at, struct ids, size_t n);
struct ids ids_joined(const struct sorter *);

/*
 * Gather n ids, at most UINT32_MAX; all are below limit, or may be any if limit
 * is 0.
 */
void unique_ids_find(struct unique_ids *, struct sorter *, struct ids, size_t n,
		     uint64_t limit);

/* Gather the keys of n ids of a hashed table, in place of the ids. */
void unique_ids_keys(struct unique_ids *, struct sorter *, struct ids,
		     size_t n);

#endif
