#include "tensor/row_serialize.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES	((size_t)64 << 10)
#define HEAD		(2 * sizeof(uint64_t))

static size_t
row_bytes(const struct table *t)
{
	return HEAD + table_floats(t) * sizeof(float);
}

static size_t
block_rows(const struct table *t)
{
	const size_t rows = BLOCK_BYTES / row_bytes(t);

	return rows > 0 ? rows : 1;
}

size_t
row_serialize_blocks(const struct table *t)
{
	const size_t each = block_rows(t);

	return (size_t)(table_rows(t) + each - 1) / each;
}

size_t
row_serialize_room(const struct table *t)
{
	return block_rows(t) * row_bytes(t);
}

size_t
row_serialize(const struct table *t, struct table_walk *w, void *to)
{
	const size_t floats = table_floats(t) * sizeof(float);
	char *at = to;

	for (size_t i = block_rows(t); i > 0 && table_next(t, w); i--) {
		memcpy(at, &w->key, sizeof(w->key));
		memcpy(at + HEAD / 2, &w->update, sizeof(w->update));
		memcpy(at + HEAD, w->row, floats);
		at += HEAD + floats;
	}
	return (size_t)(at - (char *)to);
}

bool
row_deserialize(struct table *t, const void *from, size_t size)
{
	const size_t bytes = row_bytes(t);
	float *row = mem_alloc(table_floats(t), sizeof(*row));
	const char *at = from;
	uint64_t head[2];

	for (size_t i = 0; i < size / bytes; i++, at += bytes) {
		memcpy(head, at, HEAD);
		memcpy(row, at + HEAD, bytes - HEAD);
		table_put(t, head[0], row, head[1]);
	}
	free(row);
	return size % bytes == 0;
}
