/*
 * tree_sum - float32 sums in a fixed binary tree over numbered leaves.
 *
 * Node (k, a), where a is a multiple of 2^k, covers the leaves a to a + 2^k - 1
 * and is the sum of its two halves.  A half without leaves is passed over: the
 * other one is the node, to the last bit.  So a sum depends on its leaves and
 * their numbers alone, and not on who added up which node first.
 */
#ifndef PS_TREE_SUM_H
#define PS_TREE_SUM_H

#include <stddef.h>
#include <stdint.h>

/* Numbers rise. */
struct tree_leaf {
	uint32_t number;
	const float *from;
};

/* Of two leaves or more: how many are in the left half of their node. */
size_t tree_left(const struct tree_leaf *, size_t leaves);

/* How many sums beside the one that is made may be needed, by the number of the
   last leaf. */
size_t tree_levels(uint32_t last);

/*
 * The sum of one leaf or more, of width floats each; room is for so many more
 * of as many levels.  None of the arrays is another one.
 */
void tree_sum(float *to, const struct tree_leaf *, size_t leaves,
	      size_t width, float *room);

#endif
