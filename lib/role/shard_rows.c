#include "role/shard_inside.h"

#include <string.h>

#define AHEAD	128	/* rows to ask for before the first is touched */

/* Where rows lie that are sorted, as their chunks are. */
static void
find_rows(struct chunk *const *chunk, const struct holding *h,
	  const uint64_t *rows, size_t count, float **at)
{
	const size_t width = h->piece->width;

	for (size_t k = 0; k < count;) {
		const uint64_t i = rows[k] >> h->shift;
		float *first = chunk[i]->value;

		for (; k < count && rows[k] >> h->shift == i; k++) {
			at[k] = first + (rows[k] - (i << h->shift)) * width;
			apply_fetch(at[k], width);
		}
	}
}

static void
pull_rows(struct chunk *const *chunk, const struct holding *h,
	  const uint64_t *rows, size_t count, float *to)
{
	const size_t width = h->piece->width;
	float *from[AHEAD];

	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < AHEAD ? count - done : AHEAD;
		find_rows(chunk, h, rows + done, some, from);
		if (width == 1)
			for (size_t k = 0; k < some; k++)
				*to++ = *from[k];
		else
			for (size_t k = 0; k < some; k++, to += width)
				memcpy(to, from[k], width * sizeof(*to));
	}
}

void
content_pull(const struct content *c, const struct holding *h,
	     const struct row_list *rows, float *to)
{
	if (c->table)
		table_pull(c->table, rows->row, rows->count, to);
	else if (h->piece->table)
		pull_rows(c->chunk, h, rows->row, rows->count, to);
	else if (rows->count > 0)
		memcpy(to, c->chunk[0]->value, rows->count * sizeof(*to));
}

/* A whole dense piece; from a chunk that is frozen into a fresh one. */
static void
push_dense(struct content *to, const struct apply *a, const void *gradient)
{
	struct chunk *from = to->chunk[0];

	if (!hold_alone(&from->hold))
		to->chunk[0] = chunk_blank(from->size, from->slots);
	apply_all(a, from->value, to->chunk[0]->value, gradient, from->size);
	if (from != to->chunk[0])
		hold_drop(&from->hold);
}

/* The chunks of some rows can be written from now on. */
static void
make_writable(struct chunk **chunk, const struct holding *h,
	      const uint64_t *rows, size_t count)
{
	for (size_t k = 0; k < count; k++)
		if (k == 0 || rows[k] >> h->shift != rows[k - 1] >> h->shift)
			chunk_writable(&chunk[rows[k] >> h->shift]);
}

/* Rows of chunks that are all of one size. */
static void
push_equal(struct content *to, const struct holding *h,
	   const struct apply *a, const uint64_t *rows, size_t count,
	   const char *gradient)
{
	const size_t width = h->piece->width;
	float *row[AHEAD];

	for (size_t done = 0, some; done < count; done += some) {
		struct apply_rows r = { .row = row, .width = width };

		r.count = some = count - done < AHEAD ? count - done : AHEAD;
		make_writable(to->chunk, h, rows + done, some);
		r.stride = to->chunk[rows[done] >> h->shift]->size;
		find_rows(to->chunk, h, rows + done, some, row);
		for (size_t s = 1; s <= h->slots; s++)
			for (size_t k = 0; k < some; k++)
				apply_fetch(row[k] + s * r.stride, width);
		apply_rows(a, r, gradient + done * width * sizeof(float));
	}
}

/* The last chunk may be a smaller one. */
static void
push_rows(struct content *to, const struct holding *h, const struct apply *a,
	  const uint64_t *rows, size_t count, const char *gradient)
{
	size_t n = count;

	while (n > 0 && rows[n - 1] >> h->shift == h->chunks - 1)
		n--;
	push_equal(to, h, a, rows, n, gradient);
	push_equal(to, h, a, rows + n, count - n,
		   gradient + n * h->piece->width * sizeof(float));
}

/* Rows that are not admitted yet lose their gradient. */
static void
push_hashed(struct table *to, const struct holding *h, const struct apply *a,
	    const uint64_t *keys, size_t count, const char *gradient)
{
	const size_t width = h->piece->width;
	float *row[TABLE_BATCH];

	table_update(to, a->t);
	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < TABLE_BATCH ? count - done : TABLE_BATCH;
		table_touch(to, keys + done, some, row);
		for (size_t k = 0, end; k < some; k = end + 1) {
			for (end = k; end < some && row[end]; end++)
				;
			apply_rows(a, (struct apply_rows){
				row + k, end - k, width, width },
				gradient + k * width * sizeof(float));
		}
		gradient += some * width * sizeof(float);
	}
}

void
content_push(struct content *to, const struct holding *h,
	     const struct apply *a, const struct row_list *rows,
	     const void *gradient)
{
	if (to->table)
		push_hashed(to->table, h, a, rows->row, rows->count,
			    gradient);
	else if (h->piece->table)
		push_rows(to, h, a, rows->row, rows->count, gradient);
	else
		push_dense(to, a, gradient);
}
