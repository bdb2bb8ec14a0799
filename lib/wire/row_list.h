/*
 * row_list - which rows of a piece of the plan a message is about.
 */
#ifndef PS_ROW_LIST_H
#define PS_ROW_LIST_H

#include "wire/plan.h"

/* Rows of a piece, in ascending order.  A dense piece has only a count, no
   array. */
struct row_list {
	uint64_t *row;
	size_t count, room;
};

/*
 * Read the rows of a piece: of a dense piece all; of a table those that the
 * next keys name, as keys_read() does.  Rows of a hashed table are keys; of
 * another table they are counted from the piece's first row.  row grows as
 * needed.
 */
void row_list_read(struct row_list *, struct unpack *keys,
		   const struct piece *);
/* Append the keys of a table's rows. */
void row_list_write(const struct row_list *, struct pack *keys,
		    const struct piece *);

#endif
