/*
 * layer_batch_normalization - bring each channel to mean 0 and variance 1 over
 * the batch, then apply gamma and beta (Ioffe, Szegedy, Batch Normalization,
 * 2015).
 *
 * The servers keep moving averages of the batches' means and variances: a batch
 * pushes its own as the gradients of moving_mean and moving_variance, whose
 * optimizer is a moving average.  Outside training these averages are used in
 * place of the batch's.
 */
#include "model/layer.h"

#include "tensor/target_clones.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CHANNELS	64	/* channels whose sums are made at a time */

struct private {
	float epsilon;
	size_t channels;
	bool center, scale;
	size_t gamma, beta, mean, variance;	/* indices among the node's
						   variables */
	struct optimizer average;
};

/* ---- variables ---- */

/*
 * Declare a variable that is a moving average; the model's optimizers leave it
 * alone.
 */
static int
add_average(struct model *m, struct node *n, const char *name,
	    const char *initializer, size_t *at, struct settings *s,
	    struct fail *f)
{
	struct private *own = n->private;
	const struct shape channels = { 1, { own->channels } };

	*at = n->variables;
	if (node_variable(m, n, name, channels, false, initializer, s, f))
		return -1;

	struct variable *v = &m->variable[n->variable[*at]];

	if (v->l1 > 0 || v->l2 > 0)
		return fail(f, FAIL_CONFIG, "%s: %s: %s is not trained, and "
			    "takes no regularizer", n->where, n->name, name);
	v->averaged = true;
	v->optimizer = &own->average;
	return 0;
}

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	float momentum = .99f;

	own->epsilon = .001f;
	own->center = own->scale = true;
	if (node_wants_floats(n, f) ||
	    settings_float(s, "momentum", &momentum, 0, 1, f) ||
	    settings_float(s, "epsilon", &own->epsilon, FLT_MIN, 1, f) ||
	    settings_bool(s, "center", &own->center, f) ||
	    settings_bool(s, "scale", &own->scale, f))
		return -1;
	optimizer_average(&own->average, momentum);
	n->shape = n->in[0]->shape;
	own->channels = n->shape.dim[n->shape.rank - 1];
	/*
	 * The normalized values, and behind them mean, variance and inverse of
	 * each channel: see norm_of().
	 */
	n->scratch = node_size(n) + 3 * own->channels;

	const struct shape channels = { 1, { own->channels } };

	own->gamma = n->variables;
	if (own->scale &&
	    node_variable(m, n, "gamma", channels, false, "ones", s, f))
		return -1;
	own->beta = n->variables;
	if (own->center &&
	    node_variable(m, n, "beta", channels, false, "zeros", s, f))
		return -1;
	return add_average(m, n, "moving_mean", "zeros", &own->mean, s, f) ||
	       add_average(m, n, "moving_variance", "ones", &own->variance, s,
			   f) ? -1 : 0;
}

/* ---- a batch ---- */

/*
 * Rows of all channels, one behind the other; n channels from first on are at
 * hand.
 */
struct rows {
	size_t count, stride;
	size_t first, n;
};

struct norm {
	struct rows all;
	float *normal;			/* count x stride */
	float *mean, *variance, *inverse;	/* of each channel */
};

static struct norm
norm_of(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t size = p->examples * node_size(p->node);
	float *behind = p->scratch + size;

	return (struct norm){
		.all = { size / own->channels, own->channels, 0,
			 own->channels },
		.normal = p->scratch,
		.mean = behind, .variance = behind + own->channels,
		.inverse = behind + 2 * own->channels
	};
}

/* Return the rows with the channels from first on: at most CHANNELS. */
static struct rows
part_of(struct rows all, size_t first)
{
	all.first = first;
	all.n = all.stride - first < CHANNELS ? all.stride - first : CHANNELS;
	return all;
}

/*
 * Sums over rows.  Each channel has a sum of its own, so the order of additions
 * does not depend on the width of vectors.
 */
static TARGET_CLONES void
add_up(struct rows r, const float *x, double *restrict sum)
{
	for (size_t i = 0; i < r.count; i++)
		for (size_t k = 0; k < r.n; k++)
			sum[k] += (double)x[i * r.stride + r.first + k];
}

static TARGET_CLONES void
add_squares(struct rows r, const float *x, const double *restrict mean,
	    double *restrict sum)
{
	for (size_t i = 0; i < r.count; i++)
		for (size_t k = 0; k < r.n; k++) {
			const double off = (double)x[i * r.stride + r.first +
						     k] - mean[k];

			sum[k] += off * off;
		}
}

static TARGET_CLONES void
add_products(struct rows r, const float *x, const float *y,
	     double *restrict sum)
{
	for (size_t i = 0; i < r.count; i++)
		for (size_t k = 0; k < r.n; k++) {
			const size_t at = i * r.stride + r.first + k;

			sum[k] += (double)x[at] * (double)y[at];
		}
}

static void
measure(const struct norm *norm, const float *x)
{
	const double count = (double)norm->all.count;

	for (size_t at = 0; at < norm->all.stride; at += CHANNELS) {
		const struct rows r = part_of(norm->all, at);
		double mean[CHANNELS] = { 0 }, square[CHANNELS] = { 0 };

		add_up(r, x, mean);
		for (size_t k = 0; k < r.n; k++)
			mean[k] /= count;
		add_squares(r, x, mean, square);
		for (size_t k = 0; k < r.n; k++) {
			norm->mean[at + k] = (float)mean[k];
			norm->variance[at + k] = (float)(square[k] / count);
		}
	}
}

/* Set the mean and the variance that a pass uses. */
static struct norm
begin(const struct pass *p)
{
	const struct private *own = p->node->private;
	const struct norm norm = norm_of(p);
	const size_t size = own->channels * sizeof(float);

	if (p->training) {
		measure(&norm, p->in[0].value);
	} else {
		memcpy(norm.mean, p->w[own->mean], size);
		memcpy(norm.variance, p->w[own->variance], size);
	}
	/* An imported variance may be negative. */
	for (size_t k = 0; k < own->channels; k++)
		norm.inverse[k] = 1 / sqrtf(fmaxf(norm.variance[k], 0) +
					    own->epsilon);
	return norm;
}

static TARGET_CLONES void
normalize(const struct norm *norm, const float *restrict x)
{
	const size_t n = norm->all.stride;
	const float *restrict mean = norm->mean, *inverse = norm->inverse;
	float *restrict normal = norm->normal;

	for (size_t i = 0; i < norm->all.count; i++, x += n, normal += n)
		for (size_t k = 0; k < n; k++)
			normal[k] = (x[k] - mean[k]) * inverse[k];
}

static TARGET_CLONES void
finish(const struct norm *norm, const float *gamma, const float *beta,
       float *restrict y)
{
	const size_t n = norm->all.stride;
	const float *restrict normal = norm->normal;

	for (size_t i = 0; i < norm->all.count; i++, y += n, normal += n) {
		for (size_t k = 0; k < n; k++)
			y[k] = gamma ? normal[k] * gamma[k] : normal[k];
		for (size_t k = 0; beta && k < n; k++)
			y[k] += beta[k];
	}
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const struct norm norm = begin(p);

	normalize(&norm, p->in[0].value);
	finish(&norm, own->scale ? p->w[own->gamma] : NULL,
	       own->center ? p->w[own->beta] : NULL, p->out.value);
}

/*
 * Add the gradient of the input.  With g = dy gamma, the parts of g that would
 * move the mean or the variance are subtracted: the mean of g, and the
 * normalized value times the mean of g times the normalized value.
 */
static TARGET_CLONES void
add_to_input(struct rows r, const struct norm *norm, const float *dy,
	     const double *restrict mean, const double *restrict along,
	     const double *restrict scale, float *restrict dx)
{
	for (size_t i = 0; i < r.count; i++)
		for (size_t k = 0; k < r.n; k++) {
			const size_t at = i * r.stride + r.first + k;

			dx[at] += (float)(((double)dy[at] - mean[k] -
					   (double)norm->normal[at] *
					   along[k]) * scale[k]);
		}
}

static void
backward_part(const struct pass *p, const struct norm *norm, struct rows r)
{
	const struct private *own = p->node->private;
	const float *dy = p->out.gradient;
	double sum[CHANNELS] = { 0 }, along[CHANNELS] = { 0 };
	double scale[CHANNELS];

	add_up(r, dy, sum);
	add_products(r, dy, norm->normal, along);
	for (size_t k = 0; k < r.n; k++) {
		const size_t c = r.first + k;

		if (own->center)
			p->dw[own->beta][c] += (float)sum[k];
		if (own->scale)
			p->dw[own->gamma][c] += (float)along[k];
		sum[k] /= (double)r.count;
		along[k] /= (double)r.count;
		scale[k] = (double)norm->inverse[c] *
			(own->scale ? (double)p->w[own->gamma][c] : 1);
	}
	if (p->in[0].gradient)
		add_to_input(r, norm, dy, sum, along, scale,
			     p->in[0].gradient);
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const struct norm norm = norm_of(p);

	for (size_t at = 0; at < own->channels; at += CHANNELS)
		backward_part(p, &norm, part_of(norm.all, at));
	for (size_t k = 0; k < own->channels; k++) {
		p->dw[own->mean][k] += norm.mean[k] * (float)p->examples;
		p->dw[own->variance][k] += norm.variance[k] *
			(float)p->examples;
	}
}

const struct layer layer_batch_normalization = {
	.name = "batch_normalization", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private), .needs_whole_batch = true,
	.is_barrier = true,
	.build = build, .forward = forward, .backward = backward
};
