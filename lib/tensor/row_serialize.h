/*
 * row_serialize - rows of a table as bytes, to be sent to another server or
 * written.
 *
 * Each row is its key and its last update, 64 bits each, and its floats: values
 * and slots.  Rows are in order of key, in blocks of about 64 KiB.
 */
#ifndef PS_ROW_SERIALIZE_H
#define PS_ROW_SERIALIZE_H

#include "tensor/table.h"

size_t row_serialize_blocks(const struct table *);	/* number of blocks for
							   all rows */
size_t row_serialize_room(const struct table *);	/* bytes of a block, at
							   most */

/*
 * Write the next block to an array of row_serialize_room() bytes.  The walk is
 * zeroed before the first block, and says where the next one begins.  Return
 * the number of bytes; 0 when there are no more rows.
 */
size_t row_serialize(const struct table *, struct table_walk *, void *to);

/*
 * Put the rows of a block into the table.  Return false if the last bytes are
 * not a whole row.
 */
bool row_deserialize(struct table *, const void *from, size_t size);

#endif
