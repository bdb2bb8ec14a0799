/*
 * pick - rows of a table, to be taken out, changed and put back.
 *
 * Rows of one array are known by their numbers, any others by where each lies.
 * Pointers do for both, but have to be made first.
 */
#ifndef PS_PICK_H
#define PS_PICK_H

#include <stddef.h>
#include <stdint.h>

/* Rows of width floats, each another. */
struct pick {
	size_t count, width;
	float *const *row;	/* where each lies; or, if it is NULL, */
	const uint64_t *number;	/* their numbers, in order, */
	float *first;		/* in an array that begins here */
	uint64_t base;		/* with the row of this number */
};

/* Where they begin if they lie side by side, as far as can be seen; or NULL. */
float *pick_whole(const struct pick *);

/* Copy what lies so far behind each to where it is side by side; and back. */
void pick_collect(const struct pick *, size_t behind, float *to);
void pick_spread(const struct pick *, size_t behind, const float *from);

/* Leave out the first ones. */
static inline void
pick_skip(struct pick *p, size_t count)
{
	p->count -= count;
	if (p->row)
		p->row += count;
	else
		p->number += count;
}

#endif
