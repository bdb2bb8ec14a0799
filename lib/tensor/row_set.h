/*
 * row_set - rows that are to be gathered from memory, changed and scattered
 * back.
 *
 * Rows of one array are given by their numbers, other rows by a pointer to
 * each.  Pointers would do for both, but would have to be made first.
 */
#ifndef PS_ROW_SET_H
#define PS_ROW_SET_H

#include <stddef.h>
#include <stdint.h>

/* count distinct rows of width floats each. */
struct row_set {
	size_t count, width;
	float *const *row;	/* a pointer to each row; or NULL: by number */
	const uint64_t *number;	/* the numbers of the rows, rising */
	float *first;		/* where row number base lies; the rows of the
				   array follow each other */
	uint64_t base;		/* number of the first row of the array */
};

/*
 * Return the address of the first row if the rows are seen to lie side by side;
 * NULL if not, or if it is not known.
 */
float *row_set_whole(const struct row_set *);

/*
 * Gather: copy width floats at an offset of behind floats from each row to an
 * array, row by row.  Scatter: copy them back.
 */
void row_set_gather(const struct row_set *, size_t behind, float *to);
void row_set_scatter(const struct row_set *, size_t behind, const float *from);

/* Remove the first count rows from the set. */
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
