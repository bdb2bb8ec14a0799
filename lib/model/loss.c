#include "model/loss.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define EPSILON	1e-7		/* Keras's backend.epsilon() */

static double
clip(double p)
{
	return p < EPSILON ? EPSILON : p > 1 - EPSILON ? 1 - EPSILON : p;
}

/* Keras clips by a function whose slope is 0 beyond its ends. */
static bool
clipped(double p)
{
	return p < EPSILON || p > 1 - EPSILON;
}

static double
smooth(const struct loss *l, float label)
{
	const double s = (double)l->label_smoothing;

	return (double)label * (1 - s) + s / 2;
}

static double
binary_value(const struct loss *l, const float *x, size_t width, float label)
{
	const double y = smooth(l, label), z = (double)x[0], p = clip(z);

	(void)width;
	if (l->logits)
		return fmax(z, 0) - z * y + log1p(exp(-fabs(z)));
	return -(y * log(p) + (1 - y) * log(1 - p));
}

static void
binary_gradient(const struct loss *l, const float *x, size_t width,
		float label, float *dx)
{
	const double y = smooth(l, label), z = (double)x[0];

	(void)width;
	if (l->logits)
		dx[0] += (float)(1 / (1 + exp(-z)) - y);
	else if (!clipped(z))
		dx[0] += (float)((z - y) / (z * (1 - z)));
}

/* log(sum(exp(x))), without overflow. */
static double
log_sum(const float *x, size_t width)
{
	double largest = (double)x[0], sum = 0;

	for (size_t i = 1; i < width; i++)
		largest = fmax(largest, (double)x[i]);
	for (size_t i = 0; i < width; i++)
		sum += exp((double)x[i] - largest);
	return largest + log(sum);
}

static double
sparse_value(const struct loss *l, const float *x, size_t width, float label)
{
	const size_t y = (size_t)label;

	if (l->logits)
		return log_sum(x, width) - (double)x[y];
	return -log(clip((double)x[y]));
}

static void
sparse_gradient(const struct loss *l, const float *x, size_t width,
		float label, float *dx)
{
	const size_t y = (size_t)label;

	if (l->logits) {
		const double all = log_sum(x, width);

		for (size_t i = 0; i < width; i++)
			dx[i] += (float)exp((double)x[i] - all);
		dx[y] -= 1;
	} else if (!clipped((double)x[y])) {
		dx[y] -= 1 / x[y];
	}
}

static double
square_value(const struct loss *l, const float *x, size_t width, float label)
{
	const double e = (double)x[0] - (double)label;

	(void)l, (void)width;
	return e * e;
}

static void
square_gradient(const struct loss *l, const float *x, size_t width,
		float label, float *dx)
{
	(void)l, (void)width;
	dx[0] += 2 * (x[0] - label);
}

static double
absolute_value(const struct loss *l, const float *x, size_t width, float label)
{
	(void)l, (void)width;
	return fabs((double)x[0] - (double)label);
}

static float
sign(float x)
{
	return (float)((x > 0) - (x < 0));
}

static void
absolute_gradient(const struct loss *l, const float *x, size_t width,
		  float label, float *dx)
{
	(void)l, (void)width;
	dx[0] += sign(x[0] - label);
}

/* Labels 0 and 1 stand for -1 and 1. */
static double
hinge_value(const struct loss *l, const float *x, size_t width, float label)
{
	(void)l, (void)width;
	return fmax(0, 1 - (2 * (double)label - 1) * (double)x[0]);
}

static void
hinge_gradient(const struct loss *l, const float *x, size_t width,
	       float label, float *dx)
{
	if (hinge_value(l, x, width, label) > 0)
		dx[0] -= 2 * label - 1;
}

static double
huber_value(const struct loss *l, const float *x, size_t width, float label)
{
	const double e = fabs((double)x[0] - (double)label);
	const double delta = (double)l->delta;

	(void)width;
	return e <= delta ? e * e / 2 : delta * e - delta * delta / 2;
}

static void
huber_gradient(const struct loss *l, const float *x, size_t width,
	       float label, float *dx)
{
	const float e = x[0] - label;

	(void)width;
	dx[0] += fabsf(e) <= l->delta ? e : l->delta * sign(e);
}

/* log((e^x + e^-x) / 2), without overflow. */
static double
log_cosh_value(const struct loss *l, const float *x, size_t width, float label)
{
	const double e = fabs((double)x[0] - (double)label);

	(void)l, (void)width;
	return e + log1p(exp(-2 * e)) - log(2);
}

static void
log_cosh_gradient(const struct loss *l, const float *x, size_t width,
		  float label, float *dx)
{
	(void)l, (void)width;
	dx[0] += tanhf(x[0] - label);
}

static double
poisson_value(const struct loss *l, const float *x, size_t width, float label)
{
	const double p = (double)x[0];

	(void)l, (void)width;
	return p - (double)label * log(p + EPSILON);
}

static void
poisson_gradient(const struct loss *l, const float *x, size_t width,
		 float label, float *dx)
{
	(void)l, (void)width;
	dx[0] += (float)(1 - (double)label / ((double)x[0] + EPSILON));
}

static const struct loss_kind kinds[] = {
	{ "binary_crossentropy", .link = "sigmoid", .two_sided = true,
	  .threshold = .5f, binary_value, binary_gradient },
	{ "sparse_categorical_crossentropy", .link = "softmax",
	  .classes = true, .threshold = .5f, sparse_value, sparse_gradient },
	{ "mean_squared_error", .threshold = .5f,
	  .value = square_value, .gradient = square_gradient },
	{ "mean_absolute_error", .threshold = .5f,
	  .value = absolute_value, .gradient = absolute_gradient },
	{ "hinge", .two_sided = true, .threshold = 0,
	  .value = hinge_value, .gradient = hinge_gradient },
	{ "huber", .threshold = .5f,
	  .value = huber_value, .gradient = huber_gradient },
	{ "log_cosh", .threshold = .5f,
	  .value = log_cosh_value, .gradient = log_cosh_gradient },
	{ "poisson", .threshold = .5f,
	  .value = poisson_value, .gradient = poisson_gradient },
};

int
loss_parse(struct loss *l, const char *name, struct settings *s,
	   struct fail *f)
{
	*l = (struct loss){ .delta = 1 };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			l->kind = &kinds[i];
	if (!l->kind)
		return fail(f, FAIL_CONFIG, "%s: unknown loss '%s'",
			    s->where, name);
	if (l->kind->link &&
	    settings_bool(s, "from_logits", &l->logits, f))
		return -1;
	if (l->kind->value == binary_value &&
	    settings_float(s, "label_smoothing", &l->label_smoothing, 0, 1, f))
		return -1;
	if (l->kind->value == huber_value &&
	    settings_float(s, "delta", &l->delta, FLT_MIN, FLT_MAX, f))
		return -1;
	return settings_done(s, f);
}
