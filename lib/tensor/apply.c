#include "tensor/apply.h"

#include <string.h>

/*
 * Floats of short rows that are gathered at a time.  With four slots beside
 * them they fit into a first-level cache, and there are enough of them to hide
 * the cost of the calls.
 */
#define BLOCK	1024

/*
 * Floats that are copied at a time when from and to differ: a run is long
 * enough for the processor to fetch ahead, and is still in the second-level
 * cache when the optimizer reads it.
 */
#define COPY	8192

/* A row of more floats than this has a call of the optimizer to itself. */
#define WIDE	512

struct block {
	float w[BLOCK], slot[OPTIMIZER_SLOTS][BLOCK];
};

/* Return an update of n floats; the caller sets its slots. */
static struct update
update_of(const struct apply *a, float *w, const loose_float *sum, size_t n)
{
	return (struct update){ .w = w, .sum = sum, .examples = a->examples,
				.n = n, .t = a->t,
				.learning_rate = a->learning_rate };
}

/*
 * Change n floats that lie together; each slot is stride floats behind the one
 * before it.
 */
static void
apply_run(const struct apply *a, float *w, const loose_float *sum, size_t n,
	  size_t stride)
{
	struct update u = update_of(a, w, sum, n);

	for (size_t s = 0; s < a->optimizer->slots; s++)
		u.slot[s] = w + (1 + s) * stride;
	optimizer_apply(a->optimizer, &u);
}

void
apply_all(const struct apply *a, const float *from, float *to,
	  const void *gradient, size_t n)
{
	const loose_float *sum = gradient;
	const size_t most = from == to ? n : COPY;
	size_t some;

	for (size_t at = 0; at < n; at += some) {
		some = n - at < most ? n - at : most;
		for (size_t s = 0; from != to && s <= a->optimizer->slots; s++)
			memcpy(to + s * n + at, from + s * n + at,
			       some * sizeof(*to));
		apply_run(a, to + at, sum + at, some, n);
	}
}

/* Update rows of at most BLOCK floats in all: gather them into a block, and
   scatter them again. */
static void
apply_some(const struct apply *a, const struct row_set *p, size_t stride,
	   const loose_float *sum, struct block *b)
{
	const size_t slots = a->optimizer->slots;
	struct update u = update_of(a, b->w, sum, p->count * p->width);

	row_set_gather(p, 0, b->w);
	for (size_t s = 0; s < slots; s++) {
		u.slot[s] = b->slot[s];
		row_set_gather(p, (1 + s) * stride, b->slot[s]);
	}
	optimizer_apply(a->optimizer, &u);
	row_set_scatter(p, 0, b->w);
	for (size_t s = 0; s < slots; s++)
		row_set_scatter(p, (1 + s) * stride, b->slot[s]);
}

void
apply_rows(const struct apply *a, struct row_set p, size_t stride,
	   const void *gradient)
{
	const size_t most = p.width > WIDE ? 1 : BLOCK / p.width;
	const loose_float *sum = gradient;
	size_t left = p.count;
	struct block b;

	while (left > 0) {
		float *whole;

		p.count = left < most ? left : most;
		left -= p.count;
		whole = row_set_whole(&p);
		if (whole)
			apply_run(a, whole, sum, p.count * p.width, stride);
		else
			apply_some(a, &p, stride, sum, &b);
		sum += p.count * p.width;
		row_set_skip(&p, p.count);
	}
}
