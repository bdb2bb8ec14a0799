/*
 * row_serialize - rows of a table on their way to another one, as bytes.
 *
 * Of each row its key and its last update, 64 bits each, and its floats,
 * values and slots; in order of key, a block at a time.
 */
#ifndef PS_ROW_SERIALIZE_H
#define PS_ROW_SERIALIZE_H

#include "tensor/table.h"

size_t row_serialize_blocks(const struct table *);	/* that all rows make */
size_t row_serialize_room(const struct table *);	/* bytes of one, at
							   most */

/*
 * Write the next block from where the walk stands, which begins zeroed.  It
 * returns how many bytes that are, 0 when there are no more rows.
 */
size_t row_serialize(const struct table *, struct table_walk *, void *to);

/* Put the rows of a block.  false: not so many bytes make whole rows. */
bool row_deserialize(struct table *, const void *from, size_t size);

#endif
