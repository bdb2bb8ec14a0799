/*
 * gradient_tree - the sum of a round's gradients, as servers and relays make
 * it.
 *
 * The sum is a fixed tree over the numbers of replicas (see tensor/tree_sum.h).
 * Of a dense piece every leaf has all elements; a row of a table is the sum of
 * the leaves that have it.
 *
 * A leaf may be the sum of a whole node, as float32 and with the number of the
 * node's first replica, in place of the node's leaves: the bits of the result
 * are the same.
 */
#ifndef PS_GRADIENT_TREE_H
#define PS_GRADIENT_TREE_H

#include "wire/message.h"
#include "wire/row_list.h"

/* A push, as it came; its keys are well-formed, and its values fit them. */
struct gradient_leaf {
	uint64_t replica;	/* its number, below 2^31 */
	const struct frame *keys, *values;
	struct encoding encoding;
};

/* Do the keys of a leaf name rows of the part's tables, and do its values fit
   them? */
bool gradient_leaf_is_sound(const struct plan *, size_t part,
			    const struct gradient_leaf *);

struct gradient_tree;

/* The plan is borrowed until gradient_tree_free(). */
struct gradient_tree *gradient_tree_new(const struct plan *);
void gradient_tree_free(struct gradient_tree *);

/*
 * Add up one leaf or more, in the order of their numbers, for a part.  Sets
 * rows[i] to the rows of the part's piece i that the sum has (its array grows
 * as needed, and stays the caller's), and *sum to the floats of those rows, one
 * piece behind the other, good until the next call.  Returns the number of
 * floats.
 */
size_t gradient_tree_sum(struct gradient_tree *, size_t part,
			 const struct gradient_leaf *, size_t leaves,
			 struct row_list *rows, float **sum);

#endif
