/*
 * row_list - which rows of a piece of the plan a message is about.
 */
#ifndef PS_ROW_LIST_H
#define PS_ROW_LIST_H

#include "wire/plan.h"

/* Rows of a piece, sorted; a dense one has only their number. */
struct row_list {
	uint64_t *row;
	size_t count, room;
};

/* As the piece knows them: all, or those that the keys which come next name;
   see keys_read(). */
void row_list_read(struct row_list *, struct unpack *keys,
		   const struct piece *);
/* Append the keys of a table's. */
void row_list_write(const struct row_list *, struct pack *keys,
		    const struct piece *);

#endif
