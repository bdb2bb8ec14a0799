#include "tensor/apply.h"

#include <string.h>

/* Floats at a time: with four slots beside them they fit into a first level
   cache, and calls are not felt. */
#define BLOCK	1024

/*
 * What is frozen is copied so many floats at a time: runs long enough for the
 * processor to fetch ahead of them, and all of them still in its second level
 * cache when the optimizer comes by.
 */
#define COPY	(8 * BLOCK)

struct block {
	float w[BLOCK], slot[OPTIMIZER_SLOTS][BLOCK];
};

/* Of n floats; the slots are still to be named. */
static struct update
update_of(const struct apply *a, float *w, const loose_float *sum, size_t n)
{
	return (struct update){ .w = w, .sum = sum, .examples = a->examples,
				.n = n, .t = a->t,
				.learning_rate = a->learning_rate };
}

/*
 * Ask for the beginnings of what the next block is made of.  A processor does
 * not fetch ahead beyond the end of a page, and a block is no less.
 */
static void
fetch_block(const float *w, const loose_float *sum, size_t n, size_t slots)
{
	apply_fetch(sum, BLOCK);
	for (size_t s = 0; s <= slots; s++)
		apply_fetch(w + s * n, BLOCK);
}

/* The next floats of n, and of each slot. */
static void
copy(float *to, const float *from, size_t at, size_t n, size_t slots)
{
	const size_t some = n - at < COPY ? n - at : COPY;

	for (size_t s = 0; s <= slots; s++)
		memcpy(to + s * n + at, from + s * n + at,
		       some * sizeof(*to));
}

void
apply_all(const struct apply *a, const float *from, float *to,
	  const void *gradient, size_t n)
{
	const size_t slots = a->optimizer->slots;
	const loose_float *sum = gradient;

	for (size_t at = 0; at < n; at += BLOCK) {
		const size_t some = n - at < BLOCK ? n - at : BLOCK;
		struct update u = update_of(a, to + at, sum + at, some);

		for (size_t s = 0; s < slots; s++)
			u.slot[s] = to + (1 + s) * n + at;
		if (from != to && at % COPY == 0)
			copy(to, from, at, n, slots);
		if (n - at >= 2 * BLOCK)
			fetch_block(to + at + BLOCK, sum + at + BLOCK, n,
				    slots);
		optimizer_apply(a->optimizer, &u);
	}
}

/* A row by itself, where it lies. */
static void
apply_wide(const struct apply *a, float *row, size_t width, size_t stride,
	   const loose_float *sum)
{
	for (size_t at = 0; at < width; at += BLOCK) {
		const size_t some = width - at < BLOCK ? width - at : BLOCK;
		struct update u = update_of(a, row + at, sum + at, some);

		for (size_t s = 0; s < a->optimizer->slots; s++)
			u.slot[s] = row + (1 + s) * stride + at;
		optimizer_apply(a->optimizer, &u);
	}
}

/* Between rows here and there, so far behind, and a block of them. */

static void
collect(float *restrict to, struct apply_rows r, size_t behind)
{
	if (r.width == 1)
		for (size_t k = 0; k < r.count; k++)
			to[k] = r.row[k][behind];
	else
		for (size_t k = 0; k < r.count; k++, to += r.width)
			memcpy(to, r.row[k] + behind, r.width * sizeof(*to));
}

static void
spread(const float *restrict from, struct apply_rows r, size_t behind)
{
	if (r.width == 1)
		for (size_t k = 0; k < r.count; k++)
			r.row[k][behind] = from[k];
	else
		for (size_t k = 0; k < r.count; k++, from += r.width)
			memcpy(r.row[k] + behind, from,
			       r.width * sizeof(*from));
}

static void
apply_some(const struct apply *a, struct apply_rows r,
	   const loose_float *sum, struct block *b)
{
	const size_t slots = a->optimizer->slots;
	struct update u = update_of(a, b->w, sum, r.count * r.width);

	collect(b->w, r, 0);
	for (size_t s = 0; s < slots; s++) {
		u.slot[s] = b->slot[s];
		collect(b->slot[s], r, (1 + s) * r.stride);
	}
	optimizer_apply(a->optimizer, &u);
	spread(b->w, r, 0);
	for (size_t s = 0; s < slots; s++)
		spread(b->slot[s], r, (1 + s) * r.stride);
}

void
apply_rows(const struct apply *a, struct apply_rows r, const void *gradient)
{
	const size_t most = r.width > 0 ? BLOCK / r.width : r.count;
	const loose_float *sum = gradient;
	struct block b;

	for (size_t left = r.count; left > 0; left -= r.count) {
		r.count = left < most ? left : most;
		if (r.count == 0) {
			r.count = 1;
			apply_wide(a, *r.row, r.width, r.stride, sum);
		} else {
			apply_some(a, r, sum, &b);
		}
		r.row += r.count;
		sum += r.count * r.width;
	}
}
