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

void
apply_all(const struct apply *a, const float *from, float *to,
	  const void *gradient, size_t n)
{
	const size_t slots = a->optimizer->slots;
	const char *sum = gradient;
	float g[STRETCH];

	for (size_t at = 0; at < n; at += STRETCH) {
		const size_t some = n - at < STRETCH ? n - at : STRETCH;
		struct update u = update_of(a, to + at, sum + at * sizeof(*g),
					    g, some);

		for (size_t s = 0; s < slots; s++)
			u.slot[s] = to + (1 + s) * n + at;
		for (size_t s = 0; s <= slots && from != to; s++)
			memcpy(to + s * n + at, from + s * n + at,
			       some * sizeof(*to));
		optimizer_apply(a->optimizer, &u);
	}
}

/* A row by itself, where it lies. */
static void
apply_wide(const struct apply *a, const struct apply_row *row, size_t width,
	   const char *sum)
{
	float g[BLOCK];

	for (size_t at = 0; at < width; at += BLOCK) {
		const size_t some = width - at < BLOCK ? width - at : BLOCK;
		struct update u = update_of(a, row->value + at,
					    sum + at * sizeof(*g), g, some);

		for (size_t s = 0; s < a->optimizer->slots; s++)
			u.slot[s] = row->value + (1 + s) * row->stride + at;
		optimizer_apply(a->optimizer, &u);
	}
}

/* Between rows here and there and a block of them, one after the other. */

static void
collect(float *restrict to, const struct apply_row *row, size_t count,
	size_t width, size_t part)
{
	if (width == 1)
		for (size_t k = 0; k < count; k++)
			to[k] = row[k].value[part * row[k].stride];
	else
		for (size_t k = 0; k < count; k++, to += width)
			memcpy(to, row[k].value + part * row[k].stride,
			       width * sizeof(*to));
}

static void
spread(const float *restrict from, const struct apply_row *row, size_t count,
       size_t width, size_t part)
{
	if (width == 1)
		for (size_t k = 0; k < count; k++)
			row[k].value[part * row[k].stride] = from[k];
	else
		for (size_t k = 0; k < count; k++, from += width)
			memcpy(row[k].value + part * row[k].stride, from,
			       width * sizeof(*from));
}

static void
apply_some(const struct apply *a, const struct apply_row *row, size_t count,
	   size_t width, const char *sum, struct block *b)
{
	const size_t slots = a->optimizer->slots, n = count * width;
	struct update u = update_of(a, b->w, sum, b->g, n);

	collect(b->w, row, count, width, 0);
	for (size_t s = 0; s < slots; s++) {
		u.slot[s] = b->slot[s];
		collect(b->slot[s], row, count, width, 1 + s);
	}
	optimizer_apply(a->optimizer, &u);
	spread(b->w, row, count, width, 0);
	for (size_t s = 0; s < slots; s++)
		spread(b->slot[s], row, count, width, 1 + s);
}

void
apply_rows(const struct apply *a, const struct apply_row *row, size_t count,
	   size_t width, const void *gradient)
{
	const size_t most = width > 0 ? BLOCK / width : count;
	const char *sum = gradient;
	struct block b;

	for (size_t some; count > 0; count -= some, row += some) {
		some = count < most ? count : most;
		if (some == 0) {
			some = 1;
			apply_wide(a, row, width, sum);
		} else {
			apply_some(a, row, some, width, sum, &b);
		}
		sum += some * width * sizeof(float);
	}
}
