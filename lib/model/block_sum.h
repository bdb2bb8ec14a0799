/*
 * block_sum - the sum of the gradients of a batch's blocks, for all variables
 * but tables.
 *
 * The members of a crew add them in the tree over the blocks' numbers (see
 * tensor/tree_sum.h).  Blocks are begun in order, so few sums wait for their
 * other half: there are about as many arrays as the crew has members plus the
 * tree has levels.
 */
#ifndef PS_BLOCK_SUM_H
#define PS_BLOCK_SUM_H

#include "base/crew.h"

#include <stddef.h>

#define BLOCKS	64	/* blocks of a batch, at most */

struct block_sum;

struct block_sum *block_sum_new(void);
void block_sum_free(struct block_sum *);

/*
 * Begin a sum of the gradients of `blocks` blocks, each of `floats` floats, by
 * members of this crew, which is borrowed.
 */
void block_sum_begin(struct block_sum *, struct crew *, size_t blocks,
		     size_t floats);

/*
 * Return an array for the gradient of a block, for block_sum_add() to take
 * back; its content is undefined.  Any member of the crew may call it.
 */
float *block_sum_room(struct block_sum *);
/*
 * Add the gradient of a block, which is in an array of block_sum_room().  Any
 * member of the crew may call it.
 */
void block_sum_add(struct block_sum *, size_t block, float *gradient);

/*
 * Return the sum, when all blocks have been added; good until the next begin.
 */
const float *block_sum_all(const struct block_sum *);

#endif
