#include "wire/row_list.h"

#include "wire/keys.h"

void
row_list_read(struct row_list *rows, struct unpack *keys,
	      const struct piece *piece)
{
	const uint64_t first = piece->hashed ? piece_key(piece) : 0;

	rows->count = !piece->table ? piece->count :
		keys_read(keys, first, first + piece_last_key(piece),
			  &rows->row, &rows->room);
}
