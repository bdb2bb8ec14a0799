/*
 * tree_sum - float32 sums in a fixed binary tree over numbered leaves.
 *
 * Node (k, a), where a is a multiple of 2^k, covers the leaves a to a + 2^k - 1
 * and is the sum of its two halves.  If one half has no leaves, the node is the
 * other half, to the last bit.  So a sum depends on its leaves and their
 * numbers alone, and not on who added up which node first.
 */
#ifndef PS_TREE_SUM_H
#define PS_TREE_SUM_H

#include <stddef.h>
#include <stdint.h>

/* A node's place in the order of all: those of its left half, the node, those
   of its right half.  So leaf a has 2 a. */
static inline size_t
tree_node(size_t first, unsigned level)
{
	return 2 * first + ((size_t)1 << level) - 1;
}

/* A leaf: an array of floats.  In a list of leaves the numbers rise. */
struct tree_leaf {
	uint32_t number;
	const float *from;
};

/*
 * Return how many of the leaves (2 or more) are in the left half of the
 * smallest node that covers all of them.
 */
size_t tree_left(const struct tree_leaf *, size_t leaves);

/*
 * Return how many sums, beside the result, tree_sum() needs room for if the
 * last leaf has this number.
 */
size_t tree_levels(uint32_t last);

/*
 * Set to[width] to the sum of the leaves (1 or more), of width floats each.
 * room has tree_levels() * width floats.  None of the arrays overlap.
 */
void tree_sum(float *to, const struct tree_leaf *, size_t leaves,
	      size_t width, float *room);

#endif
