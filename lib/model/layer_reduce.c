/* layer_reduce - the sum, the mean or the maximum along one axis. */
#include "model/layer.h"

#include "tensor/target_clones.h"

#define COLUMNS	64	/* columns added up at a time */

/* The input is outer x count x inner, the output outer x inner. */
struct private {
	size_t outer, count, inner;
	float scale;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	bool keepdims = false;
	int axis = 1;

	(void)m;
	if (node_wants_floats(n, f) || node_axis(n, s, &axis, f) ||
	    settings_bool(s, "keepdims", &keepdims, f))
		return -1;

	const struct shape in = n->in[0]->shape;
	struct shape out = { 0 };

	*own = (struct private){ 1, in.dim[axis], 1, 1 };
	for (int i = 0; i < in.rank; i++) {
		if (i < axis)
			own->outer *= in.dim[i];
		if (i > axis)
			own->inner *= in.dim[i];
		if (i != axis)
			out.dim[out.rank++] = in.dim[i];
		else if (keepdims || in.rank == 1)
			out.dim[out.rank++] = 1;
	}
	n->shape = out;
	return 0;
}

static int
build_mean(struct model *m, struct node *n, struct settings *s,
	   struct fail *f)
{
	struct private *own = n->private;

	if (build(m, n, s, f))
		return -1;
	own->scale = 1 / (float)own->count;
	return 0;
}

/*
 * Set the sums of n columns.  They are made in double precision: in floats a
 * sum of a million terms would lose digits.
 */
static inline void
add_columns(float *restrict y, const float *restrict x, size_t first,
	    size_t n, struct private own)
{
	double sum[COLUMNS] = { 0 };

	for (size_t j = 0; j < own.count; j++)
		for (size_t k = 0; k < n; k++)
			sum[k] += (double)x[j * own.inner + first + k];
	for (size_t k = 0; k < n; k++)
		y[first + k] = (float)((double)own.scale * sum[k]);
}

static TARGET_CLONES void
add_up(float *restrict y, const float *restrict x, size_t outer,
       struct private own)
{
	for (; outer > 0; outer--, y += own.inner, x += own.count * own.inner)
		for (size_t k = 0; k < own.inner; k += COLUMNS)
			add_columns(y, x, k, own.inner - k < COLUMNS ?
				    own.inner - k : COLUMNS, own);
}

static TARGET_CLONES void
spread_gradient(float *restrict dx, const float *restrict dy, size_t outer,
		struct private own)
{
	for (; outer > 0; outer--, dy += own.inner)
		for (size_t j = 0; j < own.count; j++, dx += own.inner)
			for (size_t k = 0; k < own.inner; k++)
				dx[k] += own.scale * dy[k];
}

/*
 * The same along the last axis: there inner is 1, and a loop over it would cost
 * more than its work.
 */
static TARGET_CLONES void
add_up_last(float *restrict y, const float *restrict x, size_t outer,
	    struct private own)
{
	for (size_t i = 0; i < outer; i++, x += own.count) {
		double sum = 0;

		for (size_t j = 0; j < own.count; j++)
			sum += (double)x[j];
		y[i] = (float)((double)own.scale * sum);
	}
}

static TARGET_CLONES void
spread_gradient_last(float *restrict dx, const float *restrict dy, size_t outer,
		     struct private own)
{
	for (size_t i = 0; i < outer; i++, dx += own.count)
		for (size_t j = 0; j < own.count; j++)
			dx[j] += own.scale * dy[i];
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;

	(own->inner == 1 ? add_up_last : add_up)(
		p->out.value, p->in[0].value, p->examples * own->outer, *own);
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;

	(own->inner == 1 ? spread_gradient_last : spread_gradient)(
		p->in[0].gradient, p->out.gradient, p->examples * own->outer,
		*own);
}

/* ---- the maximum ---- */

/* Return the larger number, or NaN if one is NaN. */
static inline float
larger(float a, float b)
{
	return a > b || a != a ? a : b;
}

static TARGET_CLONES void
find_largest(float *restrict y, const float *restrict x, size_t outer,
	     struct private own)
{
	for (; outer > 0; outer--, y += own.inner) {
		for (size_t k = 0; k < own.inner; k++)
			y[k] = x[k];
		x += own.inner;
		for (size_t j = 1; j < own.count; j++, x += own.inner)
			for (size_t k = 0; k < own.inner; k++)
				y[k] = larger(y[k], x[k]);
	}
}

/*
 * Give the gradient to the maximum; numbers that tie share it, as in
 * TensorFlow.
 */
static TARGET_CLONES void
max_gradient(float *restrict dx, const float *restrict x,
	     const float *restrict y, const float *restrict dy,
	     struct private own)
{
	for (size_t k = 0; k < own.inner; k++) {
		float ties = 0;

		for (size_t j = 0; j < own.count; j++)
			ties += x[j * own.inner + k] == y[k];
		for (size_t j = 0; j < own.count; j++)
			dx[j * own.inner + k] +=
				x[j * own.inner + k] == y[k] ?
				dy[k] / ties : 0;
	}
}

static void
max_forward(const struct pass *p)
{
	const struct private *own = p->node->private;

	find_largest(p->out.value, p->in[0].value, p->examples * own->outer,
		     *own);
}

static void
max_backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t in = own->count * own->inner;

	for (size_t i = 0; i < p->examples * own->outer; i++)
		max_gradient(p->in[0].gradient + i * in,
			     p->in[0].value + i * in,
			     p->out.value + i * own->inner,
			     p->out.gradient + i * own->inner, *own);
}

const struct layer layer_reduce_max = {
	.name = "reduce_max", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private), .build = build,
	.forward = max_forward, .backward = max_backward
};

const struct layer layer_reduce_mean = {
	.name = "reduce_mean", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private), .build = build_mean,
	.forward = forward, .backward = backward
};

const struct layer layer_reduce_sum = {
	.name = "reduce_sum", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private), .build = build,
	.forward = forward, .backward = backward
};
