/*
 * layer_factorization - the second-order term of a factorization machine.
 *
 * With x_j the weight of feature j and v_j its row of k factors:
 *	sum over pairs i < j of <v_i, v_j> x_i x_j
 *	= 1/2 sum over f of ((sum_j v_jf x_j)^2 - sum_j (v_jf x_j)^2)
 * (Rendle, Factorization Machines, 2010, lemma 3.1.)
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <string.h>

#define FACTORS	((uint64_t)1 << 16)

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	uint64_t factors = 0;

	if (node_wants_ids(n, f) ||
	    settings_uint(s, "factors", &factors, 1, FACTORS, f))
		return -1;
	if (factors == 0)
		return fail(f, FAIL_CONFIG, "%s: %s: factors= is missing",
			    n->where, n->name);

	const struct shape table = {
		2, { input_table_rows(n->in[0]->input), (size_t)factors }
	};

	n->shape = (struct shape){ 1, { 1 } };
	n->scratch = (size_t)factors;	/* sum_j v_jf x_j */
	return node_variable(m, n, "embeddings", table, true,
			     "random_uniform", s, f);
}

static float
pairs(const struct flow *in, struct bag bag, const float *table, float *sum,
      size_t k)
{
	double squares = 0, all = 0;

	memset(sum, 0, k * sizeof(*sum));
	for (size_t j = bag.first; j < bag.first + bag.count; j++) {
		const float *v = table + in->row[j] * k;
		const float x = flow_weight(in, j);

		kernel_axpy(sum, x, v, k);
		for (size_t q = 0; q < k; q++)
			squares += (double)(v[q] * x) * (double)(v[q] * x);
	}
	for (size_t q = 0; q < k; q++)
		all += (double)sum[q] * (double)sum[q];
	return (float)((all - squares) / 2);
}

static void
forward(const struct pass *p)
{
	const size_t k = p->node->scratch;

	for (size_t i = 0; i < p->examples; i++)
		p->out.value[i] = pairs(&p->in[0], flow_bag(&p->in[0], i),
					p->w[0], p->scratch + i * k, k);
}

static void
backward(const struct pass *p)
{
	const struct flow *in = &p->in[0];
	const size_t k = p->node->scratch;

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		const float *sum = p->scratch + i * k;

		for (size_t j = bag.first; j < bag.first + bag.count; j++) {
			const float x = flow_weight(in, j);
			const float g = p->out.gradient[i] * x;
			const float *v = p->w[0] + in->row[j] * k;

			for (size_t q = 0; q < k; q++)
				p->dw[0][in->row[j] * k + q] +=
					g * (sum[q] - x * v[q]);
		}
	}
}

const struct layer layer_factorization = {
	.name = "factorization", .least = 1, .most = 1,
	.build = build, .forward = forward, .backward = backward
};
