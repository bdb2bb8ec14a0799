#include "wire/row_list.h"

#include "wire/keys.h"

/* The number from which the rows of a list are counted. */
static uint64_t
origin(const struct piece *piece)
{
	return piece->hashed ? piece_key(piece) : 0;
}

void
row_list_write(const struct row_list *rows, struct pack *keys,
	       const struct piece *piece)
{
	keys_write(keys, rows->row, rows->count, origin(piece));
}

void
row_list_read(struct row_list *rows, struct unpack *keys,
	      const struct piece *piece)
{
	const uint64_t first = origin(piece);

	rows->count = !piece->table ? piece->count :
		keys_read(keys, first, first + piece_last_key(piece),
			  &rows->row, &rows->room);
}
