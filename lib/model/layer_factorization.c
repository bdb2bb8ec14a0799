/*
 * layer_factorization - the second-order term of a factorization machine.
 *
 * With x_j the weight of feature j and v_j its row of k factors:
 *	sum over pairs i < j of <v_i, v_j> x_i x_j
 *	= 1/2 sum over f of ((sum_j v_jf x_j)^2 - sum_j (v_jf x_j)^2)
 *	= sum over f, j of v_jf x_j (sum over i < j of v_if x_i)
 * (Rendle, Factorization Machines, 2010, lemma 3.1.)
 */
#include "model/layer.h"

#include "tensor/target_clones.h"

#define FACTORS	((uint64_t)1 << 16)

struct private {
	size_t factors;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	uint64_t factors = 0;

	if (node_wants_ids(n, f) ||
	    settings_uint(s, "factors", &factors, 1, FACTORS, f))
		return -1;
	if (factors == 0)
		return node_missing(n, s, "factors", f);

	const struct shape table = {
		2, { input_table_rows(n->in[0]->input), (size_t)factors }
	};

	n->shape = (struct shape){ 1, { 1 } };
	own->factors = (size_t)factors;
	n->scratch = 2 * own->factors;	/* sum_j v_jf x_j as two floats, see
					   pairs() */
	return node_variable(m, n, "embeddings", table, true,
			     "random_uniform", s, f);
}

#define SUMS	64	/* factors whose sums are made at a time */

/*
 * Add the products of a row with the sum of the rows before it.  The difference
 * in the lemma would lose digits where its two terms are nearly equal.
 */
static inline void
add_row(double *restrict sum, double *restrict products,
	const float *restrict v, double x, size_t n)
{
	for (size_t q = 0; q < n; q++) {
		const double y = (double)v[q] * x;

		products[q] += y * sum[q];
		sum[q] += y;
	}
}

/*
 * Return the sum over pairs for n factors of a bag.  For the backward pass each
 * sum is kept as two floats, high and the rest that high leaves, because a sum
 * without its largest term may need more digits than one float has.
 */
static TARGET_CLONES double
pairs(const struct flow *in, struct bag bag, const float *table, size_t k,
      size_t n, float *high, float *low)
{
	double sum[SUMS], products[SUMS], all = 0;

	for (size_t q = 0; q < n; q++)
		sum[q] = products[q] = 0;
	for (size_t j = bag.first; j < bag.first + bag.count; j++)
		add_row(sum, products, table + in->row[j] * k,
			(double)flow_share(in, j, 1), n);
	for (size_t q = 0; q < n; q++) {
		all += products[q];
		high[q] = (float)sum[q];
		low[q] = (float)(sum[q] - (double)high[q]);
	}
	return all;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t k = own->factors;

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(&p->in[0], i);
		float *high = p->scratch + i * 2 * k;
		double sum = 0;

		for (size_t at = 0; at < k; at += SUMS)
			sum += pairs(&p->in[0], bag, p->w[0] + at, k,
				     k - at < SUMS ? k - at : SUMS, high + at,
				     high + k + at);
		p->out.value[i] = (float)sum;
	}
}

/* Add the gradient of a row: g times the sum of all other rows. */
static TARGET_CLONES void
add_others(float *restrict dv, const float *restrict v, double x, double g,
	   const float *restrict high, const float *restrict low, size_t k)
{
	for (size_t q = 0; q < k; q++)
		dv[q] += (float)(g * ((double)high[q] - x * (double)v[q] +
				      (double)low[q]));
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const struct flow *in = &p->in[0];
	const size_t k = own->factors;

	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		const float *high = p->scratch + i * 2 * k;

		for (size_t j = bag.first; j < bag.first + bag.count; j++) {
			const double x = (double)flow_share(in, j, 1);

			add_others(p->dw[0] + in->to[j] * k,
				   p->w[0] + in->row[j] * k, x,
				   (double)p->out.gradient[i] * x, high,
				   high + k, k);
		}
	}
}

const struct layer layer_factorization = {
	.name = "factorization", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.build = build, .forward = forward, .backward = backward
};
