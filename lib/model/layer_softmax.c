/*
 * layer_softmax - exp(x) / sum(exp(x)) over the last axis.
 */
#include "model/layer.h"

#include <math.h>

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	(void)m, (void)s;
	if (node_wants_floats(n, f))
		return -1;
	n->shape = n->in[0]->shape;
	return 0;
}

/* The largest number is subtracted first, so that nothing overflows. */
static void
softmax(const float *x, float *y, size_t n)
{
	float largest = x[0];
	double sum = 0;

	for (size_t i = 1; i < n; i++)
		if (x[i] > largest)
			largest = x[i];
	for (size_t i = 0; i < n; i++) {
		y[i] = expf(x[i] - largest);
		sum += (double)y[i];
	}
	for (size_t i = 0; i < n; i++)
		y[i] = (float)((double)y[i] / sum);
}

static void
forward(const struct pass *p)
{
	const struct shape s = p->node->shape;
	const size_t n = s.dim[s.rank - 1];
	const size_t all = p->examples * node_size(p->node);

	for (size_t at = 0; at < all; at += n)
		softmax(p->in[0].value + at, p->out.value + at, n);
}

static void
backward(const struct pass *p)
{
	const struct shape s = p->node->shape;
	const size_t n = s.dim[s.rank - 1];
	const size_t all = p->examples * node_size(p->node);

	for (size_t at = 0; at < all; at += n) {
		const float *y = p->out.value + at, *dy = p->out.gradient + at;
		double common = 0;

		for (size_t i = 0; i < n; i++)
			common += (double)y[i] * (double)dy[i];
		for (size_t i = 0; i < n; i++)
			p->in[0].gradient[at + i] +=
				(float)((double)y[i] *
					((double)dy[i] - common));
	}
}

const struct layer layer_softmax = {
	.name = "softmax", .min_inputs = 1, .max_inputs = 1,
	.is_activation = true,
	.build = build, .forward = forward, .backward = backward
};
