/*
 * layer_scale - (x - shift) scale + offset with numbers that are given, not
 * trained: `rescaling` has one set of numbers, `normalization` one set for each
 * place of the last axis.
 */
#include "model/layer.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define EPSILON	1e-7f		/* as in Keras, a deviation is at least this */

struct affine {
	float shift, scale, offset;
};

struct private {
	size_t count;			/* 1, or the length of the last axis */
	struct affine affine[];
};

static struct private *
make_own(struct node *n, size_t count)
{
	struct private *own = mem_resize(n->private, 1, sizeof(*own) +
					 count * sizeof(*own->affine));

	n->private = own;
	own->count = count;
	for (size_t i = 0; i < count; i++)
		own->affine[i] = (struct affine){ 0, 1, 0 };
	return own;
}

static int
build_rescaling(struct model *m, struct node *n, struct settings *s,
		struct fail *f)
{
	struct affine *a = make_own(n, 1)->affine;

	(void)m;
	n->shape = n->in[0]->shape;
	if (!settings_text(s, "scale"))
		return node_missing(n, s, "scale", f);
	if (node_wants_floats(n, f) ||
	    settings_float(s, "scale", &a->scale, -FLT_MAX, FLT_MAX, f) ||
	    settings_float(s, "offset", &a->offset, -FLT_MAX, FLT_MAX, f))
		return -1;
	n->scale = a->scale;
	n->offset = a->offset;
	return 0;
}

static bool
has_negative(const float *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] < 0)
			return true;
	return false;
}

/*
 * Return the n numbers of a setting, which the caller frees; one number stands
 * for all n.  Return NULL on failure.
 */
static float *
read_numbers(const struct node *node, struct settings *s, const char *key,
	     bool squared, size_t n, struct fail *f)
{
	size_t count;
	float *list = settings_floats(s, key, &count);

	if (list && count == 1) {
		list = mem_resize(list, n, sizeof(*list));
		for (size_t i = 1; i < n; i++)
			list[i] = list[0];
		count = n;
	}
	if (!list || count != n) {
		free(list);
		list = NULL;
		fail(f, FAIL_CONFIG, "%s: %s: normalization needs %s=, one "
		     "number or %zu, as the last axis of %s has",
		     node->where, node->name, key, n, node->in[0]->name);
	} else if (squared && has_negative(list, n)) {
		fail(f, FAIL_CONFIG, "%s: %s: %s=%s: each must be 0 or more",
		     node->where, node->name, key, settings_text(s, key));
		free(list);
		list = NULL;
	}
	return list;
}

static int
build_normalization(struct model *m, struct node *n, struct settings *s,
		    struct fail *f)
{
	const struct shape shape = n->in[0]->shape;

	(void)m;
	if (node_wants_floats(n, f))
		return -1;

	struct private *own = make_own(n, shape.dim[shape.rank - 1]);
	const size_t count = own->count;
	float *mean = read_numbers(n, s, "mean", false, count, f);
	float *variance = mean ? read_numbers(n, s, "variance", true, count,
					      f) : NULL;

	n->shape = shape;
	for (size_t i = 0; variance && i < count; i++) {
		own->affine[i].shift = mean[i];
		own->affine[i].scale = 1 / fmaxf(sqrtf(variance[i]), EPSILON);
	}

	const int status = variance ? 0 : -1;

	free(mean);
	free(variance);
	return status;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t n = p->examples * node_size(p->node);
	const float *x = p->in[0].value;

	for (size_t i = 0, c = 0; i < n; i++) {
		const struct affine *a = &own->affine[c];

		p->out.value[i] = (x[i] - a->shift) * a->scale + a->offset;
		if (++c == own->count)
			c = 0;
	}
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t n = p->examples * node_size(p->node);

	for (size_t i = 0, c = 0; i < n; i++) {
		p->in[0].gradient[i] += p->out.gradient[i] *
					own->affine[c].scale;
		if (++c == own->count)
			c = 0;
	}
}

const struct layer layer_rescaling = {
	.name = "rescaling", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.build = build_rescaling, .forward = forward, .backward = backward
};

const struct layer layer_normalization = {
	.name = "normalization", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.build = build_normalization, .forward = forward, .backward = backward
};
