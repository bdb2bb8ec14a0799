/*
 * gather - which rows of a table a batch needs.
 *
 * The ids of a feature, sorted, each once, and for each place in the feature
 * which of them stands there.  A second batch reuses the room of the first.
 */
#ifndef PS_GATHER_H
#define PS_GATHER_H

#include <stddef.h>
#include <stdint.h>

struct gather {
	uint64_t *id;		/* count: sorted, each once */
	size_t *row;		/* id[row[i]] is what stands at place i */
	size_t count;
	size_t room;		/* of all arrays */
	uint64_t *key, *word, *other;	/* while sorting */
	uint64_t *mark;			/* instead: a bit for each id, */
	uint32_t *below;		/* and how many below each word */
	size_t mark_room;
};

void gather_release(struct gather *);
void gather_ids(struct gather *, const uint64_t *id, size_t n);

/* Of a hashed table: the keys of the ids in their place. */
void gather_keys(struct gather *, const uint64_t *id, size_t n);

#endif
