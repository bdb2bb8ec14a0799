/*
 * layer_dot - inner products over the last axis: Keras's Dot(axes=-1).
 *
 * Inputs [d] and [d] give one number; [k, d] and [m, d] give all k x m
 * products.
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <math.h>

#define LEAST	1e-7		/* Keras's backend.epsilon() */

/* Inverse lengths are kept in this unit: those of the longest rows are below
   the least float that is not 0. */
#define UNIT	0x1p-20

struct private {
	bool normalize;
	size_t k, m, d;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;

	(void)m;
	if (node_wants_floats(n, f) ||
	    settings_bool(s, "normalize", &own->normalize, f))
		return -1;

	const struct shape a = n->in[0]->shape, b = n->in[1]->shape;
	char text_a[SHAPE_TEXT], text_b[SHAPE_TEXT];

	if (a.rank > 2 || a.rank != b.rank ||
	    a.dim[a.rank - 1] != b.dim[b.rank - 1])
		return fail(f, FAIL_CONFIG, "%s: %s: dot takes [d] and [d], "
			    "or [k, d] and [m, d], but %s is %s and %s is %s",
			    n->where, n->name, n->in[0]->name,
			    shape_text(a, text_a), n->in[1]->name,
			    shape_text(b, text_b));
	own->d = a.dim[a.rank - 1];
	own->k = a.rank == 2 ? a.dim[0] : 1;
	own->m = b.rank == 2 ? b.dim[0] : 1;
	n->shape = a.rank == 2 ? (struct shape){ 2, { own->k, own->m } } :
		   (struct shape){ 1, { 1 } };
	n->scratch = own->normalize ? own->k + own->m : 0;
	n->low = own->normalize ? -1 : 0;
	n->high = own->normalize ? 1 : 0;
	return 0;
}

/*
 * Set inverse[i] to 1 / length of row i, in UNITs.  As in Keras's normalize() a
 * length is at least LEAST; where it was less, the inverse is negative, because
 * the derivative of a division by a constant is another.
 */
static void
inverse_lengths(const float *x, size_t rows, size_t d, float *inverse)
{
	for (size_t i = 0; i < rows; i++) {
		const double length = sqrt(kernel_dot(x + i * d, x + i * d,
						      d));

		inverse[i] = (float)((length < LEAST ? -1 / LEAST :
				      1 / length) / UNIT);
	}
}

/* Return the factor for which inverse_lengths() has set this. */
static double
factor_of(float inverse)
{
	return fabs((double)inverse) * UNIT;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t k = own->k, m = own->m, d = own->d;

	for (size_t e = 0; e < p->examples; e++) {
		const float *a = p->in[0].value + e * k * d;
		const float *b = p->in[1].value + e * m * d;
		float *y = p->out.value + e * k * m;
		float *scale = p->scratch + e * p->node->scratch;

		if (own->normalize) {
			inverse_lengths(a, k, d, scale);
			inverse_lengths(b, m, d, scale + k);
		}
		for (size_t i = 0; i < k; i++)
			for (size_t j = 0; j < m; j++)
				y[i * m + j] = (float)
					(kernel_dot(a + i * d, b + j * d, d) *
					 (own->normalize ?
					  factor_of(scale[i]) *
					  factor_of(scale[k + j]) : 1));
	}
}

/*
 * Add g times the derivative of the cosine y of a and b by a.  With u = a / |a|
 * and v = b / |b| that is (v - y u) / |a|; or v / LEAST where |a| was less than
 * that.  In doubles, since the factor of a long row is too small for a float.
 */
static void
add_cosine(float *da, double g, double y, const float *a, float inverse_a,
	   const float *b, float inverse_b, size_t d)
{
	const double r = factor_of(inverse_a);
	const double v = g * r * factor_of(inverse_b);
	const double u = inverse_a < 0 ? 0 : g * r * y * r;

	for (size_t i = 0; i < d; i++)
		da[i] += (float)(v * (double)b[i] - u * (double)a[i]);
}

/* Add the gradient of one input. */
static void
add_side(const struct pass *p, size_t e, size_t side)
{
	const struct private *own = p->node->private;
	const size_t k = own->k, m = own->m, d = own->d;
	const size_t rows = side ? m : k, others = side ? k : m;
	const float *a = p->in[side].value + e * rows * d;
	const float *b = p->in[!side].value + e * others * d;
	const float *scale = p->scratch + e * p->node->scratch;
	float *da = p->in[side].gradient + e * rows * d;

	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < others; j++) {
			const size_t at = e * k * m +
					  (side ? j * m + i : i * m + j);
			const float g = p->out.gradient[at];

			if (own->normalize)
				add_cosine(da + i * d, (double)g,
					   (double)p->out.value[at],
					   a + i * d,
					   scale[side ? k + i : i],
					   b + j * d,
					   scale[side ? j : k + j], d);
			else
				kernel_axpy(da + i * d, g, b + j * d, d);
		}
}

static void
backward(const struct pass *p)
{
	for (size_t e = 0; e < p->examples; e++)
		for (size_t side = 0; side < 2; side++)
			if (p->in[side].gradient)
				add_side(p, e, side);
}

const struct layer layer_dot = {
	.name = "dot", .min_inputs = 2, .max_inputs = 2,
	.private = sizeof(struct private),
	.build = build, .forward = forward, .backward = backward
};
