/*
 * block_rows - which rows of tables each block of a batch looks up.
 *
 * The gradient of a row is the sum of the blocks' gradients of it, in the tree
 * over the blocks' numbers.  The gradient of one row by one block is called a
 * leaf.  Leaves are numbered block by block, and within a block in the order of
 * rows; so code that goes from row to row goes through each block's leaves in
 * the order in which they lie.  The leaves are listed by row once for each
 * group of inputs, and serve all tables of the group.
 */
#ifndef PS_BLOCK_ROWS_H
#define PS_BLOCK_ROWS_H

#include "model/unique_ids.h"

#include <stddef.h>
#include <stdint.h>

/* A leaf of a row: its number, and the block that it is of. */
struct row_leaf {
	uint32_t number, block;
};

struct block_rows {		/* { 0 } is empty */
	uint32_t *leaf;		/* for each place, as unique_ids.row[], the leaf
				   of its row in its block */
	size_t *first;		/* first[k] is the first leaf of block k;
				   first[blocks] is the number of leaves */
	uint32_t *start;	/* row i has by_row[start[i]] to by_row[start[i
				   + 1] - 1] */
	struct row_leaf *by_row;	/* all leaves, row by row */
	size_t places_room, rows_room, leaves_room, blocks_room;
	uint32_t *row;		/* the row of each leaf, until
				   block_rows_end() */
	uint32_t *seen;		/* for each row, 1 + its newest leaf; 0: it has
				   none */
	size_t leaves, places;
};

void block_rows_release(struct block_rows *);

/*
 * Begin a batch with these rows, and with this number of places (ids) and of
 * blocks.  The rows are the same for all calls up to block_rows_end().
 */
void block_rows_begin(struct block_rows *, const struct unique_ids *,
		      size_t places, size_t blocks);

/*
 * Add the places first to first + count - 1 to a block.  Blocks come in order;
 * a block may have several calls, one after the other.
 */
void block_rows_add(struct block_rows *, const struct unique_ids *,
		    size_t block, size_t first, size_t count);

/* Number the leaves, when all places have been added. */
void block_rows_end(struct block_rows *, const struct unique_ids *,
		    size_t blocks);

#endif
