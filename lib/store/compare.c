#include "store/compare.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define PIECE	((size_t)1 << 18)	/* floats, but at least a row */

struct sums {
	double largest, squares;
};

static void
add(struct sums *s, const float *a, const float *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)a[i] - (double)b[i]);

		/* The same infinity is no difference, nor is NaN from NaN. */
		if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))
			d = 0;
		else if (isnan(d))
			d = INFINITY;
		if (d > s->largest)
			s->largest = d;
		s->squares += d * d;
	}
}

static int
compare_arrays(struct checkpoint *a, struct checkpoint *b,
	       const struct checkpoint_entry *e, struct compare_item *item,
	       struct fail *f)
{
	const size_t rows = shape_rows(e->shape), width = shape_width(e->shape);
	const size_t step = width < PIECE ? PIECE / width : 1;
	float *left = mem_alloc(step, width * sizeof(*left));
	float *right = mem_alloc(step, width * sizeof(*right));
	struct sums sums = { 0 };
	int r = 0;

	for (size_t at = 0; r == 0 && at < rows; at += step) {
		const struct rows now = { at, rows - at < step ? rows - at :
					      step };

		r = checkpoint_read(a, e->variable, e->slot, e->shape, now,
				    left, NULL, f);
		if (r == 0)
			r = checkpoint_read(b, e->variable, e->slot, e->shape,
					    now, right, NULL, f);
		if (r == 0)
			add(&sums, left, right, now.count * width);
	}
	item->largest = sums.largest;
	item->rms = sqrt(sums.squares / (double)(rows * width));
	free(left);
	free(right);
	return r;
}

struct compare_item *
compare_checkpoints(struct checkpoint *a, struct checkpoint *b, bool slots,
		    size_t *count, struct fail *f)
{
	size_t n, m;
	const struct checkpoint_entry *left = checkpoint_entries(a, &n);
	const struct checkpoint_entry *right = checkpoint_entries(b, &m);
	struct compare_item *item = mem_alloc(n + m, sizeof(*item));
	int r = 0;

	*count = 0;
	for (size_t i = 0; r == 0 && i < n + m; i++) {
		const struct checkpoint_entry *e =
			i < n ? &left[i] : &right[i - n];
		const struct checkpoint_entry *other =
			checkpoint_find(i < n ? b : a, e->variable, e->slot);
		struct compare_item *to = &item[*count];

		if ((*e->slot && !slots) || (i >= n && other))
			continue;
		*to = (struct compare_item){
			.variable = e->variable, .slot = e->slot,
		};
		++*count;
		if (!other)
			to->misfit = i < n ? "only in the first" :
					     "only in the second";
		else if (!shape_equal(e->shape, other->shape))
			to->misfit = "of another shape";
		else
			r = compare_arrays(a, b, e, to, f);
	}
	if (r == 0)
		return item;
	free(item);
	return NULL;
}
