/*
 * tree_sum - float32 sums in a fixed binary tree over numbered leaves.
 *
 * Node (k, a), where a is a multiple of 2^k, covers the leaves a to a + 2^k - 1
 * and is the sum of its two halves.  A half without leaves is passed over: the
 * other one is the node, to the last bit.  So a sum depends on the numbers of
 * its leaves alone, and not on who added up which node first.
 *
 * Many sums are made at once: rows of so many floats, and a row has some of the
 * leaves.  What is being added up is a stack for each row, of which the lowest
 * lies in the sum itself; above it there is at most one for each level of the
 * tree, in as many arrays, which are made when they are needed: of n leaves
 * that all rows have it is one less than the tree has levels.
 */
#ifndef PS_TREE_SUM_H
#define PS_TREE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_LEVELS	31		/* numbers are below 2^31 */
#define TREE_END	UINT32_MAX	/* for the number after the last */

struct tree_sum {
	float *sum;			/* rows x width */
	size_t width, rows, rows_room;
	float *level[TREE_LEVELS];	/* as the sum; NULL: not needed yet */
	size_t level_room;		/* floats of each */
	struct tree_row {
		uint32_t last;		/* its newest leaf's number, plus 1 */
		uint32_t levels;	/* a bit for each that it has */
	} *row;
};

/* Begin anew, in this array of rows x width floats, whatever is in it. */
void tree_sum_begin(struct tree_sum *, float *sum, size_t rows, size_t width);
/* Add up what is left; a row without leaves has no sum. */
void tree_sum_end(struct tree_sum *);
void tree_sum_release(struct tree_sum *);

/*
 * Where a leaf of a row goes: instead of what is there, or (add) to be added to
 * it.  The numbers of a row's leaves rise; next is the number of the leaf after
 * this one, of any row.
 */
float *tree_sum_leaf(struct tree_sum *, size_t row, uint32_t number,
		     uint32_t next, bool *add);

/* The same with the floats of the leaf. */
void tree_sum_add(struct tree_sum *, size_t row, uint32_t number,
		  uint32_t next, const float *);

#endif
