/*
 * layer_dense - x kernel + bias: `dense` for floats; `linear` also for ids,
 * with a kernel that is a table.
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#define UNITS	((uint64_t)1 << 24)

struct private {
	size_t units;
	bool use_bias;
};

enum { KERNEL, BIAS };

static int
build_weights(struct model *m, struct node *n, struct settings *s,
	      size_t rows, bool table, const char *initializer,
	      struct fail *f)
{
	struct private *own = n->private;
	uint64_t units = own->units;

	own->use_bias = true;
	if (settings_uint(s, "units", &units, 1, UNITS, f) ||
	    settings_bool(s, "use_bias", &own->use_bias, f))
		return -1;
	if (units == 0)
		return node_missing(n, s, "units", f);
	own->units = (size_t)units;

	const struct shape kernel = { 2, { rows, own->units } };
	const struct shape bias = { 1, { own->units } };

	if (node_variable(m, n, "kernel", kernel, table, initializer, s, f))
		return -1;
	return own->use_bias ?
	       node_variable(m, n, "bias", bias, false, "zeros", s, f) : 0;
}

/* The last axis is replaced by units, as in Keras. */
static int
build_floats(struct model *m, struct node *n, struct settings *s,
	     const char *initializer, struct fail *f)
{
	struct private *own = n->private;

	if (node_wants_floats(n, f))
		return -1;
	n->shape = n->in[0]->shape;

	size_t *last = &n->shape.dim[n->shape.rank - 1];

	if (build_weights(m, n, s, *last, false, initializer, f))
		return -1;
	*last = own->units;
	return 0;
}

static int
dense_build(struct model *m, struct node *n, struct settings *s,
	    struct fail *f)
{
	return build_floats(m, n, s, "glorot_uniform", f);
}

static int
linear_build(struct model *m, struct node *n, struct settings *s,
	     struct fail *f)
{
	struct private *own = n->private;

	own->units = 1;
	if (!node_ids(n->in[0]))
		return build_floats(m, n, s, "zeros", f);
	if (build_weights(m, n, s, input_table_rows(n->in[0]->input), true,
			  "zeros", f))
		return -1;
	n->shape = (struct shape){ 1, { own->units } };
	return 0;
}

/* Set the output to the bias, or 0, before the products are added. */
static void
start_with_bias(const struct pass *p, size_t rows, size_t units)
{
	const struct private *own = p->node->private;

	kernel_fill_rows(p->out.value, own->use_bias ? p->w[BIAS] : NULL,
			 rows, units);
}

static void
add_to_bias(const struct pass *p, size_t rows, size_t units)
{
	const struct private *own = p->node->private;

	if (own->use_bias)
		kernel_add_rows(p->dw[BIAS], p->out.gradient, rows, units);
}

static void
dense_forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t rows = p->examples * node_size(p->node) / own->units;
	const size_t width = p->examples ? p->examples *
			     node_size(p->node->in[0]) / rows : 0;

	start_with_bias(p, rows, own->units);
	kernel_gemm((struct gemm){ .m = rows, .n = own->units, .k = width,
				   .add = true },
		    p->in[0].value, p->w[KERNEL], p->out.value);
}

static void
dense_backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t rows = p->examples * node_size(p->node) / own->units;
	const size_t width = p->examples ? p->examples *
			     node_size(p->node->in[0]) / rows : 0;

	kernel_gemm((struct gemm){ .m = width, .n = own->units, .k = rows,
				   .transpose_a = true, .add = !p->fresh },
		    p->in[0].value, p->out.gradient, p->dw[KERNEL]);
	add_to_bias(p, rows, own->units);
	if (p->in[0].gradient)
		kernel_gemm((struct gemm){ .m = rows, .n = width,
					   .k = own->units,
					   .transpose_b = true,
					   .add = !p->in[0].fresh },
			    p->out.gradient, p->w[KERNEL],
			    p->in[0].gradient);
}

/*
 * With one unit, the most common case, a row is one number.  These numbers came
 * from a server and are looked up in random order, so no cache has them: memory
 * is asked for each one AHEAD ids before its use.
 */
#define AHEAD	32

static size_t
count_ids(const struct pass *p)
{
	struct bag last = { 0 };

	if (p->examples > 0)
		last = flow_bag(&p->in[0], p->examples - 1);
	return last.first + last.count;
}

static void
add_numbers(const struct pass *p)
{
	const struct flow *in = &p->in[0];
	const float *weight = in->feature->weight, *w = p->w[KERNEL];
	const uint32_t *row = in->row;
	const size_t ids = count_ids(p);

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		double sum = (double)p->out.value[i];

		for (size_t j = bag.first; j < bag.first + bag.count; j++) {
			if (j + AHEAD < ids)
				__builtin_prefetch(w + row[j + AHEAD]);
			sum += weight ?
				(double)weight[j] * (double)w[row[j]] :
				(double)w[row[j]];
		}
		p->out.value[i] = (float)sum;
	}
}

static void
add_to_numbers(const struct pass *p)
{
	const struct flow *in = &p->in[0];
	const float *weight = in->feature->weight;
	const uint32_t *to = in->to;
	const size_t ids = count_ids(p);
	float *dw = p->dw[KERNEL];

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		const float g = p->out.gradient[i];

		for (size_t j = bag.first; j < bag.first + bag.count; j++) {
			if (j + AHEAD < ids)
				__builtin_prefetch(dw + to[j + AHEAD], 1);
			dw[to[j]] += weight ? weight[j] * g : g;
		}
	}
}

static void
linear_forward(const struct pass *p)
{
	const struct flow *in = &p->in[0];
	const size_t units = node_size(p->node);

	if (!in->feature) {
		dense_forward(p);
		return;
	}
	start_with_bias(p, p->examples, units);
	if (units == 1) {
		add_numbers(p);
		return;
	}
	for (size_t i = 0; i < p->examples; i++)
		flow_add_rows(in, flow_bag(in, i), 1, p->w[KERNEL], units,
			      p->out.value + i * units);
}

static void
linear_backward(const struct pass *p)
{
	const struct flow *in = &p->in[0];
	const size_t units = node_size(p->node);

	if (!in->feature) {
		dense_backward(p);
		return;
	}
	add_to_bias(p, p->examples, units);
	if (units == 1) {
		add_to_numbers(p);
		return;
	}
	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);

		for (size_t j = bag.first; j < bag.first + bag.count; j++)
			kernel_axpy(p->dw[KERNEL] + in->to[j] * units,
				    flow_weight(in, j),
				    p->out.gradient + i * units, units);
	}
}

const struct layer layer_dense = {
	.name = "dense", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.takes_activation = true, .sets_fresh = true, .sets_weights = true,
	.build = dense_build,
	.forward = dense_forward, .backward = dense_backward
};

const struct layer layer_linear = {
	.name = "linear", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.takes_activation = true, .sets_fresh = true, .sets_weights = true,
	.build = linear_build,
	.forward = linear_forward, .backward = linear_backward
};
