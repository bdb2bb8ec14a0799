/*
 * layer_concat - inputs side by side along one axis: Keras's Concatenate.
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <string.h>

/* An example is `outer` pieces; each input gives some floats of every piece. */
struct private {
	size_t outer;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	int axis = -1;

	(void)m;
	if (node_wants_floats(n, f) || node_axis(n, s, &axis, f))
		return -1;
	n->shape = n->in[0]->shape;
	for (size_t q = 1; q < n->ins; q++) {
		struct shape like = n->in[q]->shape;
		char a[SHAPE_TEXT], b[SHAPE_TEXT];
		const size_t more = axis < like.rank ? like.dim[axis] : 0;

		like.dim[axis] = n->shape.dim[axis];
		if (!shape_equal(like, n->shape))
			return fail(f, FAIL_CONFIG, "%s: %s: concat takes "
				    "shapes that differ only along axis %d, "
				    "but %s is %s and %s is %s", n->where,
				    n->name, axis + 1, n->in[0]->name,
				    shape_text(n->in[0]->shape, a),
				    n->in[q]->name,
				    shape_text(n->in[q]->shape, b));
		n->shape.dim[axis] += more;
	}
	own->outer = 1;
	for (int i = 0; i < axis; i++)
		own->outer *= n->shape.dim[i];
	return 0;
}

/*
 * Return the floats of an input in each piece.  They may lie in their place
 * already: see buffer_plan.h.
 */
static size_t
piece(const struct pass *p, size_t q)
{
	const struct private *own = p->node->private;

	return node_size(p->node->in[q]) / own->outer;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	float *y = p->out.value;

	for (size_t i = 0; i < p->examples * own->outer; i++)
		for (size_t q = 0, at = 0; q < p->node->ins; q++) {
			const size_t n = piece(p, q);

			if (p->in[q].value != p->out.value + at)
				memcpy(y, p->in[q].value + i * n,
				       n * sizeof(*y));
			y += n;
			at += n;
		}
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const float *dy = p->out.gradient;

	for (size_t i = 0; i < p->examples * own->outer; i++)
		for (size_t q = 0, at = 0; q < p->node->ins; q++) {
			const size_t n = piece(p, q);
			float *dx = p->in[q].gradient;
			const bool apart = dx && dx != p->out.gradient + at;

			if (apart && p->in[q].fresh)
				memcpy(dx + i * n, dy, n * sizeof(*dx));
			else if (apart)
				kernel_add(dx + i * n, dy, n);
			dy += n;
			at += n;
		}
}

const struct layer layer_concat = {
	.name = "concat", .min_inputs = 1, .max_inputs = SIZE_MAX,
	.private = sizeof(struct private), .sets_fresh = true,
	.holds_inputs = true,
	.build = build, .forward = forward, .backward = backward
};
