/*
 * layer_embedding - the row of a table for each id; or the rows of all ids of a
 * bag combined into one.
 */
#include "model/layer.h"

#include "tensor/kernels.h"
#include "tensor/target_clones.h"

#include <math.h>
#include <string.h>

enum combiner { NONE, SUM, MEAN, SQRTN };

struct private {
	enum combiner combiner;
	size_t dim;
};

static int
read_combiner(struct node *n, struct settings *s, enum combiner *combiner,
	      struct fail *f)
{
	static const char *const names[] = { "none", "sum", "mean", "sqrtn" };
	const char *text = settings_text(s, "combiner");
	const size_t count = sizeof(names) / sizeof(*names);
	size_t i = 0;

	*combiner = NONE;
	while (text && i < count && strcmp(names[i], text) != 0)
		i++;
	if (i == count)
		return fail(f, FAIL_CONFIG, "%s: %s: combiner=%s is none of "
			    "none, sum, mean, sqrtn", n->where, n->name, text);
	if (text)
		*combiner = (enum combiner)i;
	if (*combiner == NONE && input_width(n->in[0]->input) == 0)
		return fail(f, FAIL_CONFIG, "%s: %s: %s has a different number "
			    "of ids in each example; say combiner=sum, mean "
			    "or sqrtn", n->where, n->name, n->in[0]->name);
	return 0;
}

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;

	if (node_wants_ids(n, f) || read_combiner(n, s, &own->combiner, f) ||
	    node_embeddings(m, n, s, &own->dim, f))
		return -1;

	const struct input *input = n->in[0]->input;

	n->shape = (struct shape){ 1, { own->dim } };
	if (own->combiner == NONE && input->shape.rank > 0) {
		if (input->shape.rank == SHAPE_RANK)
			return fail(f, FAIL_CONFIG, "%s: %s: more than %d axes",
				    n->where, n->name, SHAPE_RANK);
		n->shape = input->shape;
		n->shape.dim[n->shape.rank++] = own->dim;
	}
	if (input_width(input) == 1)
		own->combiner = NONE;	/* one id has nothing to combine */
	return 0;
}

/*
 * Return the factor of every row of a bag, besides the row's own weight.  An
 * empty bag, or one whose weights add up to 0, gives zeros.  The result is a
 * double, since for large weights it is smaller than a float can be.
 */
static double
bag_factor(const struct flow *in, struct bag bag, enum combiner combiner)
{
	double sum = 0;

	if (combiner == NONE || combiner == SUM)
		return 1;
	for (size_t j = bag.first; j < bag.first + bag.count; j++) {
		const double w = (double)flow_weight(in, j);

		sum += combiner == MEAN ? w : w * w;
	}
	if (combiner == SQRTN)
		sum = sqrt(sum);
	return sum == 0 ? 0 : 1 / sum;
}

/*
 * Without a combiner the output of an example is the row of each of its ids,
 * one behind the other.  A compiler that knows the length of a row makes the
 * copy of the widest instructions that there are, unless it unrolls the loop
 * first.
 */
#define KNOWN_DIMS(each, ...)						\
	(dim == 1 ? each(__VA_ARGS__, 1) :				\
	 dim == 4 ? each(__VA_ARGS__, 4) :				\
	 dim == 8 ? each(__VA_ARGS__, 8) :				\
	 dim == 16 ? each(__VA_ARGS__, 16) :				\
	 dim == 32 ? each(__VA_ARGS__, 32) : each(__VA_ARGS__, dim))

static inline void
copy_each(float *restrict out, size_t stride, const float *restrict w,
	  const uint32_t *restrict row, size_t examples, size_t ids,
	  size_t dim)
{
	for (size_t i = 0; i < examples; i++, out += stride, row += ids)
		for (size_t j = 0; j < ids; j++)
			memcpy(out + j * dim, w + row[j] * dim,
			       dim * sizeof(*w));
}

static TARGET_CLONES void
copy_rows(float *restrict out, size_t stride, const float *restrict w,
	  const uint32_t *restrict row, size_t examples, size_t ids,
	  size_t dim)
{
	KNOWN_DIMS(copy_each, out, stride, w, row, examples, ids);
}

static inline void
add_to_each(float *restrict dw, const float *restrict out, size_t stride,
	    const uint32_t *restrict row, size_t examples, size_t ids,
	    size_t dim)
{
	for (size_t i = 0; i < examples; i++, out += stride, row += ids)
		for (size_t j = 0; j < ids; j++)
#pragma GCC unroll 1
			for (size_t k = 0; k < dim; k++)
				dw[row[j] * dim + k] += out[j * dim + k];
}

static TARGET_CLONES void
add_to_rows(float *restrict dw, const float *restrict out, size_t stride,
	    const uint32_t *restrict row, size_t examples, size_t ids,
	    size_t dim)
{
	KNOWN_DIMS(add_to_each, dw, out, stride, row, examples, ids);
}

static void
combine(const struct pass *p)
{
	const struct private *own = p->node->private;
	const struct flow *in = &p->in[0];
	const size_t dim = own->dim;

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		float *out = p->out.value + i * p->out.stride;

		memset(out, 0, dim * sizeof(*out));
		flow_add_rows(in, bag, bag_factor(in, bag, own->combiner),
			      p->w[0], dim, out);
	}
}

static void
add_to_combined(const struct pass *p)
{
	const struct private *own = p->node->private;
	const struct flow *in = &p->in[0];
	const size_t dim = own->dim;

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		const double scale = bag_factor(in, bag, own->combiner);

		for (size_t j = bag.first; j < bag.first + bag.count; j++)
			kernel_axpy(p->dw[0] + in->to[j] * dim,
				    flow_share(in, j, scale),
				    p->out.gradient + i * p->out.stride,
				    dim);
	}
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;

	if (own->combiner == NONE)
		copy_rows(p->out.value, p->out.stride, p->w[0], p->in[0].row,
			  p->examples, node_size(p->node) / own->dim,
			  own->dim);
	else
		combine(p);
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;

	if (own->combiner == NONE)
		add_to_rows(p->dw[0], p->out.gradient, p->out.stride,
			    p->in[0].to, p->examples,
			    node_size(p->node) / own->dim, own->dim);
	else
		add_to_combined(p);
}

const struct layer layer_embedding = {
	.name = "embedding", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.has_embeddings = true, .takes_stride = true,
	.build = build, .forward = forward, .backward = backward
};
