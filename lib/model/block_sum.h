/*
 * block_sum - the gradients of a batch's blocks, of all that is no table, added
 * up by the members of a crew in the tree over the blocks' numbers (see
 * tensor/tree_sum.h).
 *
 * Blocks are begun in their order, so few sums wait for their other half: there
 * are about as many arrays as the crew has members and the tree levels.
 */
#ifndef PS_BLOCK_SUM_H
#define PS_BLOCK_SUM_H

#include "base/crew.h"

#include <stddef.h>

#define BLOCKS	64	/* of a batch, at most */

struct block_sum;

struct block_sum *block_sum_new(void);
void block_sum_free(struct block_sum *);

/* Of so many blocks, of so many floats each; the crew is borrowed. */
void block_sum_begin(struct block_sum *, struct crew *, size_t blocks,
		     size_t floats);

/* Room for the gradient of the block that a member is at, to be handed in; what
   is in it is no number. */
float *block_sum_room(struct block_sum *);
void block_sum_add(struct block_sum *, size_t block, float *gradient);

/* When all blocks are in: good until the next begin. */
const float *block_sum_all(const struct block_sum *);

#endif
