/*
 * layer_reduce - the sum or the mean along one axis.
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <string.h>

/* The input is outer x count x inner, the output outer x inner. */
struct own {
	size_t outer, count, inner;
	float scale;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct own *own = n->own;
	bool keepdims = false;
	int axis = 1;

	(void)m;
	if (node_wants_floats(n, f) || node_axis(n, s, &axis, f) ||
	    settings_bool(s, "keepdims", &keepdims, f))
		return -1;

	const struct shape in = n->in[0]->shape;
	struct shape out = { 0 };

	*own = (struct own){ 1, in.dim[axis], 1, 1 };
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
	struct own *own = n->own;

	if (build(m, n, s, f))
		return -1;
	own->scale = 1 / (float)own->count;
	return 0;
}

static void
forward(const struct pass *p)
{
	const struct own *own = p->node->own;
	const size_t outer = p->examples * own->outer;
	const float *x = p->in[0].value;
	float *y = p->out.value;

	memset(y, 0, outer * own->inner * sizeof(*y));
	for (size_t i = 0; i < outer; i++, y += own->inner)
		for (size_t j = 0; j < own->count; j++, x += own->inner)
			kernel_axpy(y, own->scale, x, own->inner);
}

static void
backward(const struct pass *p)
{
	const struct own *own = p->node->own;
	const size_t outer = p->examples * own->outer;
	const float *dy = p->out.gradient;
	float *dx = p->in[0].gradient;

	for (size_t i = 0; i < outer; i++, dy += own->inner)
		for (size_t j = 0; j < own->count; j++, dx += own->inner)
			kernel_axpy(dx, own->scale, dy, own->inner);
}

const struct layer layer_reduce_mean = {
	.name = "reduce_mean", .least = 1, .most = 1,
	.own = sizeof(struct own), .build = build_mean,
	.forward = forward, .backward = backward
};

const struct layer layer_reduce_sum = {
	.name = "reduce_sum", .least = 1, .most = 1,
	.own = sizeof(struct own), .build = build,
	.forward = forward, .backward = backward
};
