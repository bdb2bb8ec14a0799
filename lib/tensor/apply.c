#include "tensor/apply.h"

#include "tensor/clones.h"

#include <string.h>

/* Floats at a time: with four slots beside them they fit into a first level
   cache, and calls are not felt. */
#define BLOCK	1024

/*
 * Of floats that lie together fewer: 1024 are a page, and where both passes,
 * the division and the optimizer's, end with a page, the processor never
 * fetches ahead of either.
 */
#define STRETCH	512

/*
 * What is frozen is copied so many floats at a time: runs long enough for the
 * processor to fetch ahead of them, and all of them still in its second level
 * cache when the optimizer comes by.
 */
#define COPY	8192

struct block {
	float g[BLOCK], w[BLOCK], slot[OPTIMIZER_SLOTS][BLOCK];
};

/* By division, not by a product: the same bits as one float by itself. */
static CLONES void
divide(float *restrict g, const char *restrict sum, size_t n, float examples)
{
	for (size_t i = 0; i < n; i++) {
		float x;

		memcpy(&x, sum + i * sizeof(x), sizeof(x));
		g[i] = x / examples;
	}
}

/* The mean gradient: in g, or where the sum lies if that will do. */
static const float *
mean(float *g, const char *sum, size_t n, float examples)
{
	if (examples == 1 && (uintptr_t)sum % sizeof(*g) == 0)
		return (const float *)(const void *)sum;
	divide(g, sum, n, examples);
	return g;
}

/* Of n floats; the slots are still to be named. */
static struct update
update_of(const struct apply *a, float *w, const char *sum, float *g,
	  size_t n)
{
	return (struct update){ .w = w, .g = mean(g, sum, n, a->examples),
				.n = n, .t = a->t,
				.learning_rate = a->learning_rate };
}

/* Floats from at to end - 1 of n, where they lie. */
static void
apply_stretches(const struct apply *a, float *to, const char *sum, size_t n,
		size_t at, size_t end)
{
	float g[STRETCH];

	for (; at < end; at += STRETCH) {
		const size_t some = end - at < STRETCH ? end - at : STRETCH;
		struct update u = update_of(a, to + at, sum + at * sizeof(*g),
					    g, some);

		for (size_t s = 0; s < a->optimizer->slots; s++)
			u.slot[s] = to + (1 + s) * n + at;
		optimizer_apply(a->optimizer, &u);
	}
}

void
apply_all(const struct apply *a, const float *from, float *to,
	  const void *gradient, size_t n)
{
	const size_t most = from == to ? n : COPY;

	for (size_t at = 0, end; at < n; at = end) {
		end = n - at < most ? n : at + most;
		for (size_t s = 0; s <= a->optimizer->slots && from != to; s++)
			memcpy(to + s * n + at, from + s * n + at,
			       (end - at) * sizeof(*to));
		apply_stretches(a, to, gradient, n, at, end);
	}
}

/* A row by itself, where it lies. */
static void
apply_wide(const struct apply *a, float *row, size_t width, size_t stride,
	   const char *sum)
{
	float g[BLOCK];

	for (size_t at = 0; at < width; at += BLOCK) {
		const size_t some = width - at < BLOCK ? width - at : BLOCK;
		struct update u = update_of(a, row + at,
					    sum + at * sizeof(*g), g, some);

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
apply_some(const struct apply *a, struct apply_rows r, const char *sum,
	   struct block *b)
{
	const size_t slots = a->optimizer->slots;
	struct update u = update_of(a, b->w, sum, b->g, r.count * r.width);

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
	const char *sum = gradient;
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
		sum += r.count * r.width * sizeof(float);
	}
}
