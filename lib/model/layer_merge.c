/*
 * layer_merge - inputs of one shape, element by element: Keras's Add,
 * Subtract, Multiply, Average, Maximum.
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <string.h>

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	(void)m, (void)s;
	if (node_wants_floats(n, f) || node_wants_same_shapes(n, f))
		return -1;
	n->shape = n->in[0]->shape;
	return 0;
}

/* What input q is multiplied by in a sum of count. */
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

/* The product of element i of all inputs but one. */
static float
product(const struct pass *p, size_t i, size_t but)
{
	float y = 1;

	for (size_t q = 0; q < p->node->ins; q++)
		if (q != but)
			y *= p->in[q].value[i];
	return y;
}

static void
multiply_forward(const struct pass *p)
{
	const size_t n = p->examples * node_size(p->node);

	for (size_t i = 0; i < n; i++)
		p->out.value[i] = product(p, i, p->node->ins);
}

static void
multiply_backward(const struct pass *p)
{
	const size_t n = p->examples * node_size(p->node);

	for (size_t q = 0; q < p->node->ins; q++)
		for (size_t i = 0; p->in[q].gradient && i < n; i++)
			p->in[q].gradient[i] +=
				p->out.gradient[i] * product(p, i, q);
}

/* Which input has the largest element i; the first of several. */
static size_t
largest(const struct pass *p, size_t i)
{
	size_t best = 0;

	for (size_t q = 1; q < p->node->ins; q++)
		if (p->in[q].value[i] > p->in[best].value[i])
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
	.name = "add", .least = 2, .most = SIZE_MAX,
	.build = build, .forward = sum_forward, .backward = sum_backward
};

const struct layer layer_subtract = {
	.name = "subtract", .least = 2, .most = 2,
	.build = build, .forward = sum_forward, .backward = sum_backward
};

const struct layer layer_average = {
	.name = "average", .least = 2, .most = SIZE_MAX,
	.build = build, .forward = sum_forward, .backward = sum_backward
};

const struct layer layer_multiply = {
	.name = "multiply", .least = 2, .most = SIZE_MAX,
	.build = build,
	.forward = multiply_forward, .backward = multiply_backward
};

const struct layer layer_maximum = {
	.name = "maximum", .least = 2, .most = SIZE_MAX,
	.build = build,
	.forward = maximum_forward, .backward = maximum_backward
};
