/*
 * layer_layer_normalization - bring each row of the last axis to mean 0 and
 * variance 1, then apply gamma and beta (Ba, Kiros, Hinton, Layer
 * Normalization, 2016).
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <float.h>
#include <math.h>

struct private {
	float epsilon;
	size_t width;
	bool center, scale;
	size_t beta;		/* index among the node's variables; that of
				   gamma is 0 */
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;

	own->epsilon = .001f;
	own->center = own->scale = true;
	if (node_wants_floats(n, f) ||
	    settings_float(s, "epsilon", &own->epsilon, FLT_MIN, 1, f) ||
	    settings_bool(s, "center", &own->center, f) ||
	    settings_bool(s, "scale", &own->scale, f))
		return -1;
	n->shape = n->in[0]->shape;
	own->width = n->shape.dim[n->shape.rank - 1];
	own->beta = own->scale ? 1 : 0;
	/* The normalized values, and behind them 1 / deviation of each row. */
	n->scratch = node_size(n) + node_size(n) / own->width;

	const struct shape last = { 1, { own->width } };

	if (own->scale &&
	    node_variable(m, n, "gamma", last, false, "ones", s, f))
		return -1;
	return own->center ?
	       node_variable(m, n, "beta", last, false, "zeros", s, f) : 0;
}

static float
normalize(const float *x, float *normal, size_t n, float epsilon)
{
	double mean = 0, variance = 0;

	for (size_t i = 0; i < n; i++)
		mean += (double)x[i];
	mean /= (double)n;
	for (size_t i = 0; i < n; i++)
		variance += ((double)x[i] - mean) * ((double)x[i] - mean);
	variance /= (double)n;

	const double inverse = 1 / sqrt(variance + (double)epsilon);

	for (size_t i = 0; i < n; i++)
		normal[i] = (float)(((double)x[i] - mean) * inverse);
	return (float)inverse;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t n = own->width, size = p->examples * node_size(p->node);
	float *inverse = p->scratch + size;

	for (size_t at = 0; at < size; at += n) {
		float *normal = p->scratch + at, *y = p->out.value + at;

		*inverse++ = normalize(p->in[0].value + at, normal, n,
				       own->epsilon);
		for (size_t i = 0; i < n; i++) {
			y[i] = own->scale ? normal[i] * p->w[0][i] : normal[i];
			if (own->center)
				y[i] += p->w[own->beta][i];
		}
	}
}

static void
add_to_input(const struct pass *p, size_t at, float inverse)
{
	const struct private *own = p->node->private;
	const size_t n = own->width;
	const float *dy = p->out.gradient + at, *normal = p->scratch + at;
	float *dx = p->in[0].gradient + at;
	double mean = 0, along = 0;

	for (size_t i = 0; i < n; i++) {
		const float g = own->scale ? dy[i] * p->w[0][i] : dy[i];

		mean += (double)g;
		along += (double)g * (double)normal[i];
	}
	mean /= (double)n;
	along /= (double)n;
	for (size_t i = 0; i < n; i++) {
		const float g = own->scale ? dy[i] * p->w[0][i] : dy[i];

		dx[i] += (float)(((double)g - mean -
				  (double)normal[i] * along) *
				 (double)inverse);
	}
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t n = own->width, size = p->examples * node_size(p->node);
	const float *inverse = p->scratch + size;

	for (size_t at = 0; p->in[0].gradient && at < size; at += n)
		add_to_input(p, at, *inverse++);
	if (own->center)
		kernel_add_rows(p->dw[own->beta], p->out.gradient, size / n,
				n);
	if (!own->scale)
		return;
	/*
	 * The normalized values are not needed any more, so the products
	 * overwrite them.
	 */
	kernel_multiply(p->scratch, p->out.gradient, size);
	kernel_add_rows(p->dw[0], p->scratch, size / n, n);
}

const struct layer layer_layer_normalization = {
	.name = "layer_normalization", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.build = build, .forward = forward, .backward = backward
};
