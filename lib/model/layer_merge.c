/*
 * layer_merge - inputs of one shape, element by element: Keras's Add,
 * Subtract, Multiply, Average, Maximum.
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <math.h>
#include <string.h>

#define PIECE	1024	/* elements multiplied at a time: they stay in the
			   cache */

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	(void)m, (void)s;
	if (node_wants_floats(n, f) || node_wants_same_shapes(n, f))
		return -1;
	n->shape = n->in[0]->shape;
	return 0;
}

/* Return the factor of input q in the sum. */
static float
factor(const struct node *n, size_t q)
{
	if (strcmp(n->kind, "average") == 0)
		return 1 / (float)n->ins;
	return strcmp(n->kind, "subtract") == 0 && q > 0 ? -1 : 1;
}

static void
sum_forward(const struct pass *p)
{
	const size_t n = p->examples * node_size(p->node);

	memset(p->out.value, 0, n * sizeof(float));
	for (size_t q = 0; q < p->node->ins; q++)
		kernel_axpy(p->out.value, factor(p->node, q), p->in[q].value,
			    n);
}

static void
sum_backward(const struct pass *p)
{
	const size_t n = p->examples * node_size(p->node);

	for (size_t q = 0; q < p->node->ins; q++)
		if (p->in[q].gradient)
			kernel_axpy(p->in[q].gradient, factor(p->node, q),
				    p->out.gradient, n);
}

static size_t
piece(size_t left)
{
	return left < PIECE ? left : PIECE;
}

/*
 * Set y to the product of all inputs except number `but`, for n elements from
 * at on.
 */
static void
product(const struct pass *p, size_t but, size_t at, size_t n, float *y)
{
	for (size_t i = 0; i < n; i++)
		y[i] = 1;
	for (size_t q = 0; q < p->node->ins; q++)
		if (q != but)
			kernel_multiply(y, p->in[q].value + at, n);
}

static void
multiply_forward(const struct pass *p)
{
	const size_t size = p->examples * node_size(p->node);

	for (size_t at = 0; at < size; at += PIECE)
		product(p, p->node->ins, at, piece(size - at),
			p->out.value + at);
}

static void
multiply_backward(const struct pass *p)
{
	const size_t size = p->examples * node_size(p->node);
	float others[PIECE];

	for (size_t at = 0; at < size; at += PIECE)
		for (size_t q = 0; q < p->node->ins; q++) {
			if (!p->in[q].gradient)
				continue;
			product(p, q, at, piece(size - at), others);
			kernel_add_product(p->in[q].gradient + at,
					   p->out.gradient + at, others,
					   piece(size - at));
		}
}

/*
 * Return the input whose element i is the largest, or a NaN; the first of
 * several.
 */
static size_t
largest(const struct pass *p, size_t i)
{
	size_t best = 0;

	for (size_t q = 1; q < p->node->ins; q++)
		if (!(p->in[q].value[i] <= p->in[best].value[i]) &&
		    !isnan(p->in[best].value[i]))
			best = q;
	return best;
}

static void
maximum_forward(const struct pass *p)
{
	const size_t n = p->examples * node_size(p->node);

	for (size_t i = 0; i < n; i++)
		p->out.value[i] = p->in[largest(p, i)].value[i];
}

static void
maximum_backward(const struct pass *p)
{
	const size_t n = p->examples * node_size(p->node);

	for (size_t i = 0; i < n; i++) {
		float *dx = p->in[largest(p, i)].gradient;

		if (dx)
			dx[i] += p->out.gradient[i];
	}
}

const struct layer layer_add = {
	.name = "add", .min_inputs = 2, .max_inputs = SIZE_MAX,
	.build = build, .forward = sum_forward, .backward = sum_backward
};

const struct layer layer_subtract = {
	.name = "subtract", .min_inputs = 2, .max_inputs = 2,
	.build = build, .forward = sum_forward, .backward = sum_backward
};

const struct layer layer_average = {
	.name = "average", .min_inputs = 2, .max_inputs = SIZE_MAX,
	.build = build, .forward = sum_forward, .backward = sum_backward
};

const struct layer layer_multiply = {
	.name = "multiply", .min_inputs = 2, .max_inputs = SIZE_MAX,
	.build = build,
	.forward = multiply_forward, .backward = multiply_backward
};

const struct layer layer_maximum = {
	.name = "maximum", .min_inputs = 2, .max_inputs = SIZE_MAX,
	.build = build,
	.forward = maximum_forward, .backward = maximum_backward
};
