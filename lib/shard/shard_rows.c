#include "shard/shard_private.h"

#include <string.h>

/* Rows that are prefetched together before the first is read, and their
   bytes. */
#define AHEAD		256
#define AHEAD_BYTES	((size_t)32 << 10)

#define LINE		64	/* bytes of a cache line */

/* How many of count rows are taken together. */
static size_t
count_ahead(const struct shard_piece *h, size_t count)
{
	const size_t fit = AHEAD_BYTES / (h->piece->width * sizeof(float));
	const size_t most = fit < 1 ? 1 : fit < AHEAD ? fit : AHEAD;

	return count < most ? count : most;
}

/* Do sorted rows lie in one chunk, so close that each cache line has at least
   one of them? */
static bool
are_dense(const struct shard_piece *h, const uint64_t *rows, size_t count)
{
	const uint64_t first = rows[0], last = rows[count - 1];

	return first >> h->shift == last >> h->shift &&
		(last - first) * h->piece->width * sizeof(float) <=
		count * LINE;
}

/*
 * Find count sorted rows of a piece.  Rows that are dense are found by their
 * numbers, and the processor prefetches them by itself.  Of others the
 * addresses are written to at, and each is prefetched.
 */
static struct row_set
find_rows(struct chunk *const *chunk, const struct shard_piece *h,
	  const uint64_t *rows, size_t count, float **at)
{
	struct row_set p = { .count = count, .width = h->piece->width };

	if (are_dense(h, rows, p.count)) {
		const uint64_t i = rows[0] >> h->shift;

		p.first = chunk[i]->value;
		p.base = i << h->shift;
		p.number = rows;
		return p;
	}
	for (size_t k = 0; k < p.count;) {
		const uint64_t i = rows[k] >> h->shift;
		float *first = chunk[i]->value;

		for (; k < p.count && rows[k] >> h->shift == i; k++) {
			at[k] = first + (rows[k] - (i << h->shift)) * p.width;
			apply_fetch(at[k], p.width);
		}
	}
	p.row = at;
	return p;
}

static void
pull_rows(struct chunk *const *chunk, const struct shard_piece *h,
	  const uint64_t *rows, size_t count, float *to)
{
	float *at[AHEAD];

	while (count > 0) {
		const struct row_set p = find_rows(chunk, h, rows,
						   count_ahead(h, count), at);
		const float *whole = row_set_whole(&p);

		if (whole)
			memcpy(to, whole, p.count * p.width * sizeof(*to));
		else
			row_set_gather(&p, 0, to);
		to += p.count * p.width;
		rows += p.count;
		count -= p.count;
	}
}

void
piece_state_pull(const struct piece_state *c, const struct shard_piece *h,
		 const struct row_list *rows, float *to)
{
	if (c->table)
		table_pull(c->table, rows->row, rows->count, to);
	else if (h->piece->table)
		pull_rows(c->chunk, h, rows->row, rows->count, to);
	else if (rows->count > 0)
		memcpy(to, c->chunk[0]->value, rows->count * sizeof(*to));
}

/* Push to a whole dense piece; a chunk that others refer to is left as it is,
   and the result goes to a new one. */
static void
push_dense(struct piece_state *to, const struct shard_piece *h,
	   const struct apply *a, const void *gradient)
{
	struct chunk *from = to->chunk[0];

	if (!refcount_alone(&from->hold))
		to->chunk[0] = chunk_blank(from->size, from->slots);
	apply_all(a, from->value, to->chunk[0]->value, gradient, from->size);
	if (from == to->chunk[0])
		return;
	if (h->published)
		memcpy(chunk_slot(to->chunk[0], h->slots),
		       chunk_slot(from, h->slots),
		       from->size * sizeof(float));
	refcount_drop(&from->hold);
}

/* Make the chunks of some rows writable. */
static void
make_writable(struct chunk **chunk, const struct shard_piece *h,
	      const uint64_t *rows, size_t count)
{
	const uint64_t last = rows[count - 1] >> h->shift;

	for (size_t k = 0; rows[k] >> h->shift != last; k++)
		if (rows[k] >> h->shift != rows[k + 1] >> h->shift)
			chunk_writable(&chunk[rows[k] >> h->shift]);
	chunk_writable(&chunk[last]);
}

/* Push to rows of chunks that all have the same size. */
static void
push_equal(struct piece_state *to, const struct shard_piece *h,
	   const struct apply *a, const uint64_t *rows, size_t count,
	   const char *gradient)
{
	float *at[AHEAD];

	while (count > 0) {
		const size_t some = count_ahead(h, count);
		struct row_set p;
		size_t stride;

		make_writable(to->chunk, h, rows, some);
		stride = to->chunk[rows[0] >> h->shift]->size;
		p = find_rows(to->chunk, h, rows, some, at);
		for (size_t s = 1; p.row && s <= h->slots; s++)
			for (size_t k = 0; k < p.count; k++)
				apply_fetch(at[k] + s * stride, p.width);
		apply_rows(a, p, stride, gradient);
		gradient += some * p.width * sizeof(float);
		rows += some;
		count -= some;
	}
}

/* Push to rows; the last chunk may be smaller than the others. */
static void
push_rows(struct piece_state *to, const struct shard_piece *h,
	  const struct apply *a, const uint64_t *rows, size_t count,
	  const char *gradient)
{
	size_t n = count;

	if (count == 0)
		return;		/* rows and gradient may be NULL */
	while (n > 0 && rows[n - 1] >> h->shift == h->chunks - 1)
		n--;
	push_equal(to, h, a, rows, n, gradient);
	push_equal(to, h, a, rows + n, count - n,
		   gradient + n * h->piece->width * sizeof(float));
}

/* Push to a hashed table; rows that are not admitted yet lose their
   gradient. */
static void
push_hashed(struct piece_state *c, const struct shard_piece *h,
	    const struct apply *a, const uint64_t *keys, size_t count,
	    const char *gradient)
{
	const size_t width = h->piece->width;
	struct table *to = c->table;
	float *row[TABLE_BATCH];

	table_update(to, c->updates);
	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < TABLE_BATCH ? count - done : TABLE_BATCH;
		table_touch(to, keys + done, some, row);
		for (size_t k = 0, end; k < some; k = end + 1) {
			for (end = k; end < some && row[end]; end++)
				;
			apply_rows(a, (struct row_set){ .row = row + k,
				   .count = end - k, .width = width }, width,
				   gradient + k * width * sizeof(float));
		}
		gradient += some * width * sizeof(float);
	}
	table_end_update(to);
}

void
piece_state_push(struct piece_state *to, const struct shard_piece *h,
		 const struct apply *a, const struct row_list *rows,
		 const void *gradient)
{
	if (to->table)
		push_hashed(to, h, a, rows->row, rows->count,
			    gradient);
	else if (h->piece->table)
		push_rows(to, h, a, rows->row, rows->count, gradient);
	else
		push_dense(to, h, a, gradient);
}
