#include "wire/row_list.h"

#include "base/mem.h"
#include "wire/keys.h"

#include <string.h>

void
row_list_read(struct row_list *rows, struct unpack *keys,
	      const struct piece *piece)
{
	const uint64_t first = piece->hashed ? piece_key(piece) : 0;

	rows->count = !piece->table ? piece->count :
		keys_read(keys, first, first + piece_last_key(piece),
			  &rows->row, &rows->room);
}

void
row_list_unite(struct row_list *rows, const struct row_list *with)
{
	const uint64_t *more = with->row;
	size_t n = with->count, a = rows->count, k = a + n;
	const size_t end = k;
	uint64_t *all;

	if (n == 0)
		return;
	if (end > rows->room) {
		rows->room = end;
		rows->row = mem_resize(rows->row, end, sizeof(*all));
	}
	all = rows->row;
	/* From the back, so that nothing unread is written over. */
	while (n > 0) {
		if (a > 0 && all[a - 1] >= more[n - 1]) {
			n -= all[a - 1] == more[n - 1];
			all[--k] = all[--a];
		} else {
			all[--k] = more[--n];
		}
	}
	memmove(all + a, all + k, (end - k) * sizeof(*all));
	rows->count = a + end - k;
}
