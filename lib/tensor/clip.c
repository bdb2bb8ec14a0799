#include "tensor/clip.h"

#include "tensor/target_clones.h"

#include <float.h>
#include <math.h>

static TARGET_CLONES void
scale(float *sum, size_t n, float factor)
{
	for (size_t i = 0; i < n; i++)
		sum[i] *= factor;
}

/*
 * Scale by a factor above 0.  One below the normal floats, as for a gradient
 * near the largest of them, is applied in parts: as a float it would lose
 * digits, or be 0.
 */
static void
scale_by(float *sum, size_t n, double factor)
{
	for (; factor > 0 && factor < (double)FLT_MIN; factor *= 0x1p64)
		scale(sum, n, 0x1p-64F);
	scale(sum, n, (float)factor);
}

static TARGET_CLONES void
clamp(float *sum, size_t n, float limit)
{
	for (size_t i = 0; i < n; i++) {
		const float low = sum[i] < -limit ? -limit : sum[i];

		sum[i] = low > limit ? limit : low;
	}
}

/* Return total plus the squares of a gradient, row by row. */
static double
add_squares(double total, const struct gradient *g)
{
	for (size_t row = 0; row < g->rows; row++) {
		const float *x = g->sum + row * g->width;
		double sum = 0;

		for (size_t i = 0; i < g->width; i++)
			sum += (double)x[i] * (double)x[i];
		total += sum;
	}
	return total;
}

/*
 * Return the factor that brings the mean gradient down to the limit; 1 if it is
 * within it.  The norm is that of the sums, so the limit is multiplied by the
 * number of examples instead of dividing every sum.
 */
static double
clip_factor(double squares, float limit, size_t examples)
{
	const double most = (double)limit * (double)examples;
	const double norm = sqrt(squares);

	return norm > most ? most / norm : 1;
}

/* Return the optimizer that clips the gradient: the first that sees it. */
static const struct optimizer *
clipping_optimizer(const struct gradient *g)
{
	const struct variable *v = g->variable;

	return v->local ? &v->local->optimizer : v->optimizer;
}

/*
 * Clip all gradients of the optimizer of g[at] by their common norm.  The
 * caller comes here once for each gradient; the work is done at the optimizer's
 * first.
 */
static void
clip_together(struct gradient *g, size_t count, size_t at, size_t examples)
{
	const struct optimizer *o = clipping_optimizer(&g[at]);
	double squares = 0;
	double by;

	for (size_t i = 0; i < at; i++)
		if (clipping_optimizer(&g[i]) == o)
			return;		/* done at the optimizer's first one */
	for (size_t i = at; i < count; i++)
		if (clipping_optimizer(&g[i]) == o)
			squares = add_squares(squares, &g[i]);
	by = clip_factor(squares, o->global_clipnorm, examples);
	for (size_t i = at; i < count; i++)
		if (by < 1 && clipping_optimizer(&g[i]) == o)
			scale_by(g[i].sum, g[i].rows * g[i].width, by);
}

void
clip_gradients(struct gradient *g, size_t count, size_t examples)
{
	for (size_t i = 0; i < count; i++) {
		const struct optimizer *o = clipping_optimizer(&g[i]);
		const size_t n = g[i].rows * g[i].width;

		if (!o)
			continue;
		if (o->clipvalue > 0) {
			clamp(g[i].sum, n, (float)((double)o->clipvalue *
						   (double)examples));
		} else if (o->clipnorm > 0) {
			const double by = clip_factor(add_squares(0, &g[i]),
						      o->clipnorm, examples);

			if (by < 1)
				scale_by(g[i].sum, n, by);
		} else if (o->global_clipnorm > 0) {
			clip_together(g, count, i, examples);
		}
	}
}
