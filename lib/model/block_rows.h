/*
 * block_rows - which rows of tables each block of a batch has.
 *
 * The gradient of a row is the sum of those that the blocks have of it, in the
 * tree over the blocks' numbers.  A block's of a row is called a leaf: they are
 * numbered block by block, in a block in the order of rows, so that whoever
 * goes from row to row goes through each block from its first leaf to its last;
 * and they are listed by row once, for as many tables as the inputs look up.
 */
#ifndef PS_BLOCK_ROWS_H
#define PS_BLOCK_ROWS_H

#include "model/unique_ids.h"

#include <stddef.h>
#include <stdint.h>

struct row_leaf {
	uint32_t number, block;
};

struct block_rows {		/* { 0 } is empty */
	uint32_t *leaf;		/* of each place, as unique_ids.row[]: the leaf
				   that its row has in its block */
	size_t *first;		/* the first leaf of each block; of none, how
				   many there are */
	uint32_t *start;	/* of each row, and behind the last: into */
	struct row_leaf *by_row;	/* all leaves */
	size_t places_room, rows_room, leaves_room, blocks_room;
	uint32_t *row;		/* of each leaf, while they are found */
	uint32_t *seen;		/* of each row: its newest leaf and 1 */
	size_t leaves, places;
};

void block_rows_release(struct block_rows *);

/* Rows of a batch of so many blocks, of which none is known yet. */
void block_rows_begin(struct block_rows *, const struct unique_ids *,
		      size_t places, size_t blocks);

/* The places from one on that belong to this block; block by block, each as
   often as there are some. */
void block_rows_add(struct block_rows *, const struct unique_ids *,
		    size_t block, size_t first, size_t count);

void block_rows_end(struct block_rows *, const struct unique_ids *,
		    size_t blocks);

#endif
