#include "model/loss.h"

#include "base/choices.h"
#include "base/text.h"
#include "tensor/elementary.h"
#include "tensor/target_clones.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define EPSILON	1e-7		/* Keras's backend.epsilon() */

/*
 * Define both functions of a kind whose examples have one number each, from
 * NAME(l, x, label) and NAME_slope(l, x, label) for one example.  They are
 * inlined into a loop, which is vectorized.
 */
#define LOSS_OF_ONE(name)						\
static TARGET_CLONES void						\
name##_value(const struct loss *l, double *restrict value,		\
	     const float *restrict x, size_t width,			\
	     const float *restrict label, size_t n)			\
{									\
	const struct loss own = *l;					\
									\
	(void)width;							\
	for (size_t i = 0; i < n; i++)					\
		value[i] = name(&own, (double)x[i], (double)label[i]);	\
}									\
									\
static TARGET_CLONES void						\
name##_gradient(const struct loss *l, float *restrict dx,		\
		const float *restrict x, size_t width,			\
		const float *restrict label, size_t n)			\
{									\
	const struct loss own = *l;					\
									\
	(void)width;							\
	for (size_t i = 0; i < n; i++)					\
		dx[i] += name##_slope(&own, x[i], label[i]);		\
}

static inline double
clip(double p)
{
	return p < EPSILON ? EPSILON : p > 1 - EPSILON ? 1 - EPSILON : p;
}

/* Keras clips probabilities by a function whose derivative is 0 outside. */
static inline bool
clipped(double p)
{
	return p < EPSILON || p > 1 - EPSILON;
}

static inline double
smooth(const struct loss *l, double label)
{
	const double s = (double)l->label_smoothing;

	return label * (1 - s) + s / 2;
}

static inline double
logit(const struct loss *l, double x, double label)
{
	return (x > 0 ? x : 0) - x * smooth(l, label) +
	       log1p_of_fraction(exp_of_negative(-fabs(x)));
}

static inline float
logit_slope(const struct loss *l, float x, float label)
{
	const double e = exp_of_negative(-fabs((double)x));
	const double y = smooth(l, (double)label), tail = e / (1 + e);

	return (float)(x < 0 ? tail - y : (1 - y) - tail);
}

LOSS_OF_ONE(logit)

static inline double
probability(const struct loss *l, double x, double label)
{
	const double y = smooth(l, label), p = clip(x);

	return -(y * log_of_positive(p) + (1 - y) * log_of_positive(1 - p));
}

static inline float
probability_slope(const struct loss *l, float x, float label)
{
	const double y = smooth(l, (double)label), p = (double)x;

	return clipped(p) ? 0 : (float)((p - y) / (p * (1 - p)));
}

LOSS_OF_ONE(probability)

static void
binary_value(const struct loss *l, double *restrict value,
	     const float *restrict x, size_t width,
	     const float *restrict label, size_t n)
{
	(l->logits ? logit_value : probability_value)(l, value, x, width,
						      label, n);
}

static void
binary_gradient(const struct loss *l, float *restrict dx,
		const float *restrict x, size_t width,
		const float *restrict label, size_t n)
{
	(l->logits ? logit_gradient : probability_gradient)(l, dx, x, width,
							    label, n);
}

/*
 * Return log(sum(exp(x))) without overflow.  The maximum is found by comparing,
 * because gcc 12 for arm64 cannot compile the vector loop that it makes of
 * fmax().
 */
static double
log_sum(const float *x, size_t width)
{
	double largest = (double)x[0], sum = 0;

	for (size_t i = 1; i < width; i++)
		largest = (double)x[i] > largest ? (double)x[i] : largest;
	for (size_t i = 0; i < width; i++)
		sum += exp((double)x[i] - largest);
	return largest + log(sum);
}

/* Return the sum of the clipped probabilities; Keras divides by it. */
static double
clipped_sum(const float *x, size_t width)
{
	double sum = 0;

	for (size_t i = 0; i < width; i++)
		sum += clip((double)x[i]);
	return sum;
}

static double
sparse(const struct loss *l, const float *x, size_t width, size_t y)
{
	if (l->logits)
		return log_sum(x, width) - (double)x[y];
	return log(clipped_sum(x, width)) - log(clip((double)x[y]));
}

static void
add_sparse_slope(const struct loss *l, float *dx, const float *x, size_t width,
		 size_t y)
{
	if (l->logits) {
		const double all = log_sum(x, width);

		for (size_t i = 0; i < width; i++)
			dx[i] += (float)(exp((double)x[i] - all) - (i == y));
	} else {
		const double sum = clipped_sum(x, width);

		for (size_t i = 0; i < width; i++)
			if (!clipped((double)x[i]))
				dx[i] += (float)(1 / sum - (i == y ?
						 1 / (double)x[i] : 0));
	}
}

static void
sparse_value(const struct loss *l, double *restrict value,
	     const float *restrict x, size_t width,
	     const float *restrict label, size_t n)
{
	for (size_t i = 0; i < n; i++)
		value[i] = sparse(l, x + i * width, width, (size_t)label[i]);
}

static void
sparse_gradient(const struct loss *l, float *restrict dx,
		const float *restrict x, size_t width,
		const float *restrict label, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_sparse_slope(l, dx + i * width, x + i * width, width,
				 (size_t)label[i]);
}

static inline double
square(const struct loss *l, double x, double label)
{
	(void)l;
	return (x - label) * (x - label);
}

static inline float
square_slope(const struct loss *l, float x, float label)
{
	(void)l;
	return 2 * (x - label);
}

LOSS_OF_ONE(square)

static inline double
absolute(const struct loss *l, double x, double label)
{
	(void)l;
	return fabs(x - label);
}

static inline float
sign(float x)
{
	return (float)((x > 0) - (x < 0));
}

static inline float
absolute_slope(const struct loss *l, float x, float label)
{
	(void)l;
	return sign(x - label);
}

LOSS_OF_ONE(absolute)

/* Labels 0 and 1 stand for -1 and 1. */
static inline double
hinge_slack(double x, double label)
{
	return 1 - (2 * label - 1) * x;
}

static inline double
hinge(const struct loss *l, double x, double label)
{
	(void)l;
	return hinge_slack(x, label) < 0 ? 0 : hinge_slack(x, label);
}

/* At a tie TensorFlow's maximum() has the derivative of its first argument. */
static inline float
hinge_slope(const struct loss *l, float x, float label)
{
	(void)l;
	return hinge_slack((double)x, (double)label) < 0 ? 0 : 1 - 2 * label;
}

LOSS_OF_ONE(hinge)

static inline double
huber(const struct loss *l, double x, double label)
{
	const double e = fabs(x - label), delta = (double)l->delta;

	return e <= delta ? e * e / 2 : delta * e - delta * delta / 2;
}

static inline float
huber_slope(const struct loss *l, float x, float label)
{
	const float e = x - label;

	return fabsf(e) <= l->delta ? e : l->delta * sign(e);
}

LOSS_OF_ONE(huber)

/* log((e^x + e^-x) / 2), without overflow. */
static inline double
log_cosh(const struct loss *l, double x, double label)
{
	const double e = fabs(x - label);

	(void)l;
	return e + log1p_of_fraction(exp_of_negative(-2 * e)) - M_LN2;
}

static inline float
log_cosh_slope(const struct loss *l, float x, float label)
{
	(void)l;
	return tanhf(x - label);
}

LOSS_OF_ONE(log_cosh)

static inline double
poisson(const struct loss *l, double x, double label)
{
	(void)l;
	return x - label * log(x + EPSILON);
}

static inline float
poisson_slope(const struct loss *l, float x, float label)
{
	(void)l;
	return (float)(1 - (double)label / ((double)x + EPSILON));
}

LOSS_OF_ONE(poisson)

static const struct loss_kind kinds[] = {
	{ "binary_crossentropy", .link = "sigmoid", .two_sided = true,
	  .smoothed = true, .threshold = .5f, binary_value,
	  binary_gradient },
	{ "sparse_categorical_crossentropy", .link = "softmax",
	  .classes = true, .threshold = .5f, sparse_value, sparse_gradient },
	{ "mean_squared_error", .threshold = .5f,
	  .value = square_value, .gradient = square_gradient },
	{ "mean_absolute_error", .threshold = .5f,
	  .value = absolute_value, .gradient = absolute_gradient },
	{ "hinge", .two_sided = true, .threshold = 0,
	  .value = hinge_value, .gradient = hinge_gradient },
	{ "huber", .bounded = true, .threshold = .5f,
	  .value = huber_value, .gradient = huber_gradient },
	{ "log_cosh", .threshold = .5f,
	  .value = log_cosh_value, .gradient = log_cosh_gradient },
	{ "poisson", .threshold = .5f,
	  .value = poisson_value, .gradient = poisson_gradient },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static int
unknown(const char *name, const struct settings *s, struct fail *f)
{
	struct choices names = { .word = name };

	for (size_t i = 0; i < KINDS; i++)
		choices_add(&names, kinds[i].name);
	return choices_refuse(&names, FAIL_CONFIG, s->where, "loss", f);
}

int
loss_parse(struct loss *l, const char *name, struct settings *s,
	   struct fail *f)
{
	*l = (struct loss){ .delta = 1 };
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			l->kind = &kinds[i];
	if (!l->kind)
		return unknown(name, s, f);
	if (l->kind->link &&
	    settings_bool(s, "from_logits", &l->logits, f))
		return -1;
	if (l->kind->smoothed &&
	    settings_float(s, "label_smoothing", &l->label_smoothing, 0, 1, f))
		return -1;
	return l->kind->bounded ?
		settings_float(s, "delta", &l->delta, FLT_MIN, FLT_MAX, f) : 0;
}

#define BLOCK	256		/* values at a time: they stay in the
				   first-level cache */

double
loss_sum(const struct loss *l, const float *x, size_t width,
	 const float *label, const float *weight, size_t n)
{
	double value[BLOCK], sum = 0;

	for (size_t at = 0; at < n; at += BLOCK) {
		const size_t some = n - at < BLOCK ? n - at : BLOCK;

		l->kind->value(l, value, x + at * width, width, label + at,
			       some);
		for (size_t i = 0; weight && i < some; i++)
			value[i] *= (double)weight[at + i];
		for (size_t i = 0; i < some; i++)
			sum += value[i];
	}
	return sum;
}

void
loss_slopes(const struct loss *l, float *dx, const float *x, size_t width,
	    const float *label, const float *weight, size_t n)
{
	memset(dx, 0, n * width * sizeof(*dx));
	l->kind->gradient(l, dx, x, width, label, n);
	for (size_t i = 0; weight && i < n; i++)
		for (size_t k = 0; k < width; k++)
			dx[i * width + k] *= weight[i];
}
