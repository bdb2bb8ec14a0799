/*
 * gradient_tree - the sum of gradients of a round, as servers and whoever adds
 * up on the way to them make it: a fixed tree over the numbers of replicas (see
 * tensor/tree_sum.h), of which a part's dense pieces have all leaves, and a row
 * of a table those that have it.
 *
 * A leaf may be the sum of a whole node, of float32 and of the number of its
 * first replica, in place of all leaves of that node: the bits are the same.
 */
#ifndef PS_GRADIENT_TREE_H
#define PS_GRADIENT_TREE_H

#include "wire/message.h"
#include "wire/row_list.h"

/* As it was pushed; its keys are sound, and its values fit them. */
struct gradient_leaf {
	uint64_t replica;	/* its number, below 2^31 */
	const struct frame *keys, *values;
	struct encoding encoding;
};

/* Do its keys name rows of the part's tables, and fit its values? */
bool gradient_leaf_is_sound(const struct plan *, size_t part,
			    const struct gradient_leaf *);

struct gradient_tree;

/* The plan is borrowed. */
struct gradient_tree *gradient_tree_new(const struct plan *);
void gradient_tree_free(struct gradient_tree *);

/*
 * The sum of one leaf or more, in the order of their numbers, for a part: which
 * rows of each of its pieces there are, and *sum, good until the next one, with
 * the floats of all of them, one piece behind the other.  Returns how many.
 */
size_t gradient_tree_sum(struct gradient_tree *, size_t part,
			 const struct gradient_leaf *, size_t leaves,
			 struct row_list *rows, float **sum);

#endif
