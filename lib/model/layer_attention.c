/*
 * layer_attention - the rows of a table for the ids of a bag, each weighted by
 * how similar it is to a query: Keras's Attention for one query, with the rows
 * as keys and values.
 *
 * With r_j the row of id j, w_j its weight, q the query and c the scale:
 *	s_j = c <q, r_j>;  a_j = w_j exp(s_j) / sum_k w_k exp(s_k)
 *	y = sum_j a_j r_j
 * so an id of weight 2 counts like the same id twice.  With g the gradient of
 * the loss L with respect to y:
 *	dL/ds_j = a_j (<g, r_j> - <g, y>)
 *	dL/dr_j = a_j g + c dL/ds_j q;  dL/dq = sum_j c dL/ds_j r_j
 * (Luong, Pham, Manning, Effective Approaches to Attention-based Neural Machine
 * Translation, 2015: the score "dot".  Zhou et al., Deep Interest Network,
 * 2018, use it to weight what a user did by its similarity to what is
 * proposed.)
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct private {
	size_t dim;
	float scale;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	const struct node *ids = n->in[0], *query = n->in[1];
	char shape[SHAPE_TEXT];

	if (!node_ids(ids) || node_ids(query))
		return fail(f, FAIL_CONFIG, "%s: %s: attention takes ids (an "
			    "input of kind id, string or sparse), and then "
			    "floats, the query", n->where, n->name);
	own->scale = 1;
	if (node_embeddings(m, n, s, &own->dim, f) < 0 ||
	    settings_float(s, "scale", &own->scale, -FLT_MAX, FLT_MAX, f) < 0)
		return -1;
	if (query->shape.rank != 1 || query->shape.dim[0] != own->dim)
		return fail(f, FAIL_CONFIG, "%s: %s: attention takes a query "
			    "as long as its rows, [%zu], but %s is %s",
			    n->where, n->name, own->dim, query->name,
			    shape_text(query->shape, shape));
	n->shape = (struct shape){ 1, { own->dim } };
	n->scratch = 3;		/* a struct divisor */
	return 0;
}

/*
 * The weight of row j is w_j unit exp(s_j - largest) times factor.  The unit is
 * 1; or, where the w_j are far from 1, a power of 2 that brings them near it,
 * so that their sum does not overflow or vanish.
 */
struct divisor {
	float unit, largest, factor;
};

#define FAR	60		/* exponents beyond this are far from 1 */

static float
unit_of(const struct flow *in, struct bag bag)
{
	float largest = 0;
	int exponent;

	if (!in->feature->weight)
		return 1;
	for (size_t j = bag.first; j < bag.first + bag.count; j++)
		largest = fmaxf(largest, fabsf(in->feature->weight[j]));
	frexpf(largest, &exponent);
	/*
	 * 2^-126, the smallest unit that is a normal float, leaves weights
	 * below 4.
	 */
	return exponent > FAR || exponent < -FAR ?
		ldexpf(1, exponent > 126 ? -126 : -exponent) : 1;
}

static float
score(const struct private *own, const float *query, const float *row)
{
	return own->scale * (float)kernel_dot(query, row, own->dim);
}

static float
share(const struct flow *in, size_t j, struct divisor d)
{
	return flow_share(in, j, (double)d.unit);
}

/*
 * The largest score is subtracted first, so that exp() does not overflow.  An
 * id of weight 0 counts as none: its score may be above the largest.
 */
static float
weight(const struct flow *in, size_t j, float score, struct divisor d)
{
	const float own = share(in, j, d);

	return own == 0 ? 0 : own * expf(score - d.largest) * d.factor;
}

static void
multiply(float *y, float a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] *= a;
}

/*
 * Set y to the weighted sum of the rows, and return what the weights are made
 * of.  Each row is read once: weights are relative to the largest score so far,
 * and a larger one scales down the sum.  An empty bag, or one whose weights add
 * up to 0, gives zeros.
 */
static struct divisor
attend(const struct pass *p, struct bag bag, const float *query, float *y)
{
	const struct private *own = p->node->private;
	const struct flow *in = &p->in[0];
	const size_t dim = own->dim;
	struct divisor d = { unit_of(in, bag), -INFINITY, 1 };
	double sum = 0;

	memset(y, 0, dim * sizeof(*y));
	for (size_t j = bag.first; j < bag.first + bag.count; j++) {
		const float *row = p->w[0] + in->row[j] * dim;
		const float s = score(own, query, row);
		float a;

		if (s > d.largest && share(in, j, d) != 0) {
			const float less = expf(d.largest - s);

			multiply(y, less, dim);
			sum *= (double)less;
			d.largest = s;
		}
		a = weight(in, j, s, d);
		kernel_axpy(y, a, row, dim);
		sum += (double)a;
	}
	d.factor = sum == 0 ? 0 : (float)(1 / sum);
	multiply(y, d.factor, dim);
	return d;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;

	for (size_t i = 0; i < p->examples; i++) {
		const struct divisor d = attend(p, flow_bag(&p->in[0], i),
			p->in[1].value + i * own->dim,
			p->out.value + i * p->out.stride);

		memcpy(p->scratch + 3 * i, &d, sizeof(d));
	}
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const struct flow *in = &p->in[0];
	const size_t dim = own->dim;

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		const float *query = p->in[1].value + i * dim;
		const float *g = p->out.gradient + i * p->out.stride;
		const double mean = kernel_dot(g, p->out.value +
					       i * p->out.stride, dim);
		float *to_query = p->in[1].gradient ?
			p->in[1].gradient + i * dim : NULL;
		struct divisor d;

		memcpy(&d, p->scratch + 3 * i, sizeof(d));
		for (size_t j = bag.first; j < bag.first + bag.count; j++) {
			const float *row = p->w[0] + in->row[j] * dim;
			float *to_row = p->dw[0] + in->to[j] * dim;
			const float a = weight(in, j, score(own, query, row),
					       d);
			const float slope = own->scale * a *
				(float)(kernel_dot(g, row, dim) - mean);

			kernel_axpy(to_row, a, g, dim);
			kernel_axpy(to_row, slope, query, dim);
			if (to_query)
				kernel_axpy(to_query, slope, row, dim);
		}
	}
}

const struct layer layer_attention = {
	.name = "attention", .min_inputs = 2, .max_inputs = 2,
	.private = sizeof(struct private),
	.has_embeddings = true, .takes_stride = true,
	.build = build, .forward = forward, .backward = backward
};
