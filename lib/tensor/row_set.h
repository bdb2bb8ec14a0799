/*
 * row_set - rows of a table, to be taken out, changed and put back.
 *
 * Rows of one array are known by their numbers, any others by where each lies.
 * Pointers do for both, but have to be made first.
 */
#ifndef PS_ROW_SET_H
#define PS_ROW_SET_H

#include <stddef.h>
#include <stdint.h>

/* Rows of width floats, each another. */
struct row_set {
	size_t count, width;
	float *const *row;	/* where each lies; or, if it is NULL, */
	const uint64_t *number;	/* their numbers, in order, */
	float *first;		/* in an array that begins here */
	uint64_t base;		/* with the row of this number */
};

/* Where they begin if they lie side by side, as far as can be seen; or NULL. */
float *row_set_whole(const struct row_set *);

/* Copy what lies so far behind each to where it is side by side; and back. */
void row_set_gather(const struct row_set *, size_t behind, float *to);
void row_set_scatter(const struct row_set *, size_t behind, const float *from);

/* Leave out the first ones. */
static inline void
row_set_skip(struct row_set *p, size_t count)
{
	p->count -= count;
	if (p->row)
		p->row += count;
	else
		p->number += count;
}

#endif
