#include "model/block_rows.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void
block_rows_release(struct block_rows *b)
{
	free(b->leaf);
	free(b->first);
	free(b->start);
	free(b->by_row);
	free(b->row);
	free(b->seen);
	*b = (struct block_rows){ 0 };
}

void
block_rows_begin(struct block_rows *b, const struct unique_ids *rows,
		 size_t places, size_t blocks)
{
	if (places > b->places_room) {
		b->places_room = places + places / 4;
		b->leaf = mem_resize(b->leaf, b->places_room,
				     sizeof(*b->leaf));
		b->row = mem_resize(b->row, b->places_room, sizeof(*b->row));
		b->by_row = mem_resize(b->by_row, b->places_room,
				       sizeof(*b->by_row));
	}
	if (rows->count + 1 > b->rows_room) {
		b->rows_room = rows->count + rows->count / 4 + 1;
		b->start = mem_resize(b->start, b->rows_room,
				      sizeof(*b->start));
		b->seen = mem_resize(b->seen, b->rows_room, sizeof(*b->seen));
	}
	if (blocks + 1 > b->blocks_room) {
		b->blocks_room = blocks + 1;
		b->first = mem_resize(b->first, b->blocks_room,
				      sizeof(*b->first));
	}
	memset(b->start, 0, (rows->count + 1) * sizeof(*b->start));
	memset(b->seen, 0, rows->count * sizeof(*b->seen));
	memset(b->first, 0, (blocks + 1) * sizeof(*b->first));
	b->leaves = 0;
	b->places = places;
}

void
block_rows_add(struct block_rows *b, const struct unique_ids *rows,
	       size_t block, size_t first, size_t count)
{
	size_t leaves = b->leaves;
	const size_t before = b->first[block];

	for (size_t i = first; i < first + count; i++) {
		const uint32_t row = rows->row[i];

		if (b->seen[row] <= before) {
			b->row[leaves++] = row;
			b->seen[row] = (uint32_t)leaves;
			b->start[row]++;
		}
		b->leaf[i] = b->seen[row] - 1;
	}
	b->leaves = leaves;
	b->first[block + 1] = leaves;
}

/*
 * Number the leaves of each block in the order of rows.  So far they have
 * numbers in the order in which they were met.
 */
static void
order_leaves(struct block_rows *b, size_t blocks)
{
	uint32_t *number = b->row;

	for (size_t k = blocks; k > 0; k--)
		b->first[k] = b->first[k - 1];
	for (size_t i = 0; i < b->leaves; i++) {
		struct row_leaf *l = &b->by_row[i];

		number[l->number] = (uint32_t)b->first[l->block + 1]++;
		l->number = number[l->number];
	}
	for (size_t i = 0; i < b->places; i++)
		b->leaf[i] = number[b->leaf[i]];
}

void
block_rows_end(struct block_rows *b, const struct unique_ids *rows,
	       size_t blocks)
{
	uint32_t end = 0;
	size_t leaf = b->leaves;

	for (size_t i = 0; i < rows->count; i++) {
		end += b->start[i];
		b->start[i] = end;
	}
	b->start[rows->count] = end;
	/*
	 * start[i] is the end of row i here.  Each leaf, from the last to the
	 * first, moves it down by one, so it becomes the start.
	 */
	for (size_t k = blocks; k > 0; k--)
		for (; leaf > b->first[k - 1]; leaf--)
			b->by_row[--b->start[b->row[leaf - 1]]] =
				(struct row_leaf){ (uint32_t)(leaf - 1),
						   (uint32_t)(k - 1) };
	order_leaves(b, blocks);
}
