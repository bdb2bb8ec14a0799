/*
 * Losses of many examples at a time against those of each alone, and of
 * numbers of every size against their formulas by the C library.
 */
#include "model/loss.h"

#include "base/rng.h"

#include "tap.h"

#include <math.h>
#include <string.h>

#define MOST	515		/* two blocks of a sum, and no whole vector */

static const float odd[] = {
	NAN, INFINITY, -INFINITY, 0, -0.f, 1, -1, 1e-40f, 3e38f, -3e38f, 30,
	-30, 700, -700, 710, -710, 1e-8f, .99999999f
};

#define ODD	(sizeof(odd) / sizeof(*odd))

static float x[MOST], label[MOST];

static struct loss
loss(const char *name, bool logits, float smoothing)
{
	struct settings s = { 0 };
	struct loss l = { 0 };
	struct fail f;

	if (loss_parse(&l, name, &s, &f) < 0)
		printf("Bail out! %s\n", f.text);
	l.logits = logits;
	l.label_smoothing = smoothing;
	return l;
}

static void
fill(float size)
{
	struct rng rng = { .seed = 2 };

	for (size_t i = 0; i < MOST; i++) {
		x[i] = i % 3 == 0 && i / 3 / 2 < ODD ? odd[i / 3 / 2] :
		       size * (float)(2 * rng_unit(rng_next(&rng)) - 1);
		label[i] = i % 2;
	}
}

/* Are the bits the same?  All NaNs are equal. */
static bool
same(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static bool
alone_equals_many(const struct loss *l, size_t width)
{
	const size_t n = MOST / width;
	double value[MOST], one;
	float dx[MOST] = { 0 }, d[MOST];
	bool good = true;
	double sum = 0;

	l->kind->value(l, value, x, width, label, n);
	l->kind->gradient(l, dx, x, width, label, n);
	for (size_t i = 0; i < n; i++) {
		memset(d, 0, sizeof(d));
		l->kind->value(l, &one, x + i * width, width, label + i, 1);
		l->kind->gradient(l, d, x + i * width, width, label + i, 1);
		good = good && same(one, value[i]);
		for (size_t k = 0; k < width; k++)
			good = good && same((double)d[k],
					    (double)dx[i * width + k]);
		sum += one;
	}
	return good && same(sum, loss_sum(l, x, width, label, NULL, n));
}

/* Are the loss and the slope of an example multiplied by its weight? */
static bool
weighed(const struct loss *l, size_t width)
{
	const size_t n = MOST / width;
	float weight[MOST], plain[MOST], dx[MOST];
	double sum = 0;
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		weight[i] = (float)(i % 5) / 2;
		sum += (double)weight[i] *
			loss_sum(l, x + i * width, width, label + i, NULL, 1);
	}
	good = same(sum, loss_sum(l, x, width, label, weight, n));
	memset(dx, 0xff, sizeof(dx));	/* it is set, not added to */
	loss_slopes(l, plain, x, width, label, NULL, n);
	loss_slopes(l, dx, x, width, label, weight, n);
	for (size_t i = 0; i < n * width; i++)
		good = good && same((double)(plain[i] * weight[i / width]),
				    (double)dx[i]);
	return good;
}

static bool
near(double a, double b, double unit)
{
	return same(a, b) || fabs(a - b) <= unit * (1 + fabs(b));
}

/* Returns the loss of a logit by Keras's formula. */
static double
of_logit(double z, double y)
{
	return fmax(z, 0) - z * y + log1p(exp(-fabs(z)));
}

static double
clip(double p)
{
	return p < 1e-7 ? 1e-7 : p > 1 - 1e-7 ? 1 - 1e-7 : p;
}

static double
of_probability(double p, double y)
{
	return -(y * log(clip(p)) + (1 - y) * log(1 - clip(p)));
}

static double
slope_of_logit(double z, double y)
{
	return 1 / (1 + exp(-z)) - y;
}

static double
slope_of_probability(double p, double y)
{
	return p < 1e-7 || p > 1 - 1e-7 ? 0 : (p - y) / (p * (1 - p));
}

static bool
agrees(const struct loss *l, double (*f)(double, double),
       double (*slope)(double, double))
{
	const double s = (double)l->label_smoothing;
	double value[MOST];
	float dx[MOST] = { 0 };
	bool good = true;

	l->kind->value(l, value, x, 1, label, MOST);
	l->kind->gradient(l, dx, x, 1, label, MOST);
	for (size_t i = 0; i < MOST; i++) {
		const double y = (double)label[i] * (1 - s) + s / 2;
		const double z = (double)x[i];
		const bool here = near(value[i], f(z, y), 1e-15) &&
			near((double)dx[i], (double)(float)slope(z, y), 1e-7);

		if (!here)
			printf("# of %g and %g: %.17g not %.17g, %g not %g\n",
			       z, y, value[i], f(z, y), (double)dx[i],
			       slope(z, y));
		good = good && here;
	}
	return good;
}

static void
test_company(const char *name, bool logits, size_t width)
{
	const struct loss l = loss(name, logits, 0);

	named_for(alone_equals_many(&l, width), "%s%s of an example does not "
		  "depend on the others", name, logits ? " from logits" : "");
	named_for(weighed(&l, width), "%s%s counts examples by their weights",
		  name, logits ? " from logits" : "");
}

static void
test_binary(float smoothing)
{
	struct loss l = loss("binary_crossentropy", true, smoothing);

	fill(40);
	named(agrees(&l, of_logit, slope_of_logit),
	      "binary_crossentropy of logits, NaN and infinities equals its "
	      "formula");
	l.logits = false;
	fill(1.1f);
	named(agrees(&l, of_probability, slope_of_probability),
	      "binary_crossentropy of any numbers as probabilities equals its "
	      "formula");
}

/* Losses of probabilities with any sum, as Keras 3.15 computes them with
   TensorFlow. */
static const struct {
	const char *name;
	float p[3], label;
	double value, slope[3];
} keras[] = {
	{ "probabilities that sum to more than 1",
	  { .9f, .8f, .7f }, 0, .98082930, { -.6944445, .4166667, .4166667 } },
	{ "probabilities that sum to less than 1",
	  { .2f, .1f, .6f }, 2, .40546510, { 1.111111, 1.111111, -.5555555 } },
	{ "a clipped probability of another class",
	  { -.2f, .1f, .4f }, 1, 1.6094381, { 0, -8.000001, 1.9999995 } },
	{ "a clipped probability of the label's class",
	  { 1.5f, 0, .5f }, 1, 16.523561, { 0, 0, .6666666 } },
	{ "probabilities that are all 0",
	  { 0, 0, 0 }, 1, 1.0986123, { 0, 0, 0 } },
};

static void
test_keras(const struct loss *l, size_t i)
{
	float dx[3] = { 0 };
	double value;
	bool good;

	l->kind->value(l, &value, keras[i].p, 3, &keras[i].label, 1);
	l->kind->gradient(l, dx, keras[i].p, 3, &keras[i].label, 1);
	good = near(value, keras[i].value, 1e-6);
	for (size_t k = 0; k < 3; k++)
		good = good && near((double)dx[k], keras[i].slope[k], 1e-6);
	if (!good)
		printf("# %.9g, slopes %g %g %g\n", value, (double)dx[0],
		       (double)dx[1], (double)dx[2]);
	named_for(good, "categorical cross entropy equals Keras's for %s",
		  keras[i].name);
}

static void
test_sparse(void)
{
	const struct loss l = loss("sparse_categorical_crossentropy", false,
				   0);

	for (size_t i = 0; i < sizeof(keras) / sizeof(*keras); i++)
		test_keras(&l, i);
}

int
main(void)
{
	static const char *const classes = "sparse_categorical_crossentropy";
	static const char *const names[] = {
		"binary_crossentropy", "mean_squared_error",
		"mean_absolute_error", "hinge", "huber", "log_cosh", "poisson"
	};

	fill(8);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		test_company(names[i], false, 1);
	test_company("binary_crossentropy", true, 1);
	test_company(classes, false, 5);
	test_company(classes, true, 5);
	test_binary(0);
	test_binary(.1f);
	test_sparse();
	return tap_done();
}
