/* Metrics against their definitions, in one piece and merged from several. */
#include "model/metric.h"

#include "base/rng.h"

#include "tap.h"

#include <math.h>
#include <string.h>

static struct metric
metric(const char *name)
{
	struct metric m = { 0 };
	struct fail f;

	if (metric_parse(&m, name, &f) < 0)
		printf("Bail out! %s\n", f.text);
	return m;
}

static double
value(const char *name, const float *p, size_t width, const float *label,
      size_t n)
{
	const struct metric m = metric(name);
	struct metric_state s = { 0 };
	double v;

	metric_add(&m, &s, p, width, label, NULL, n);
	v = metric_value(&m, &s);
	metric_release(&s);
	return v;
}

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

static void
binary(void)
{
	const float p[] = { .9f, .5f, .4f, .6f, .75f, .1f };
	const float y[] = { 1, 1, 1, 0, 0, 0 };
	const double loss = -(log((double)p[0]) + log((double)p[1]) +
			      log((double)p[2]) + log(1 - (double)p[3]) +
			      log(1 - (double)p[4]) + log(1 - (double)p[5]));

	named(near(value("accuracy", p, 1, y, 6), 2. / 6),
	      "accuracy counts a probability at the threshold as negative");
	ok(near(value("precision", p, 1, y, 6), 1. / 3));
	ok(near(value("recall", p, 1, y, 6), 1. / 3));
	ok(near(value("log_loss", p, 1, y, 6), loss / 6));
	ok(near(value("auc", p, 1, y, 6), 5. / 9));
	/* Both precision and recall are a third. */
	ok(near(value("f1_score", p, 1, y, 6), 1. / 3));
	ok(fabs(value("calibration", p, 1, y, 6) - 3.25 / 3) < 1e-7);
	ok(isinf(value("calibration", p, 1, y + 3, 3)));
	named(value("f1_score", p + 1, 1, y + 1, 2) == 0 &&
	      isnan(value("f1_score", p + 5, 1, y + 5, 1)),
	      "f1_score is 0 if no positive is found, and NaN without "
	      "positives and predictions");

	struct metric m = metric("recall");
	struct metric_state s = { 0 };

	m.threshold = .3f;
	metric_add(&m, &s, p, 1, y, NULL, 6);
	equals(metric_value(&m, &s), 1);
	metric_release(&s);
}

static void
bounds(void)
{
	const float p[] = { 0, 1, 1 }, y[] = { 1, 0, 1 };

	ok(near(value("log_loss", p, 1, y, 1), -log(1e-7)));
	ok(fabs(value("log_loss", p + 1, 1, y + 1, 1) + log(1e-7)) < 1e-9);
	ok(near(value("log_loss", p + 2, 1, y + 2, 1), -log(1 - 1e-7)));
}

/* There are more examples than a block has, one class after the other. */
static void
many(void)
{
	float p[1000], y[1000];
	double sum = 0;

	for (size_t i = 0; i < 1000; i++) {
		p[i] = (float)rng_unit(rng_at(6, 0, i));
		y[i] = i < 500 ? 0 : 1;
		sum -= log(i < 500 ? 1 - (double)p[i] : (double)p[i]);
	}
	ok(near(value("log_loss", p, 1, y, 1000), sum / 1000));
	p[700] = NAN;
	ok(isnan(value("log_loss", p, 1, y, 1000)));
}

static void
classes(void)
{
	const float p[] = {
		.2f, .5f, .3f,
		.4f, .2f, .4f,		/* the first of the largest: 0 */
		.4f, .2f, .4f,
		.1f, .2f, .7f,
	};
	const float y[] = { 1, 0, 0, 1 };
	const double loss = -(log((double).5f) + 2 * log((double).4f) +
			      log((double).2f));

	named(near(value("accuracy", p, 3, y, 4), .75),
	      "accuracy takes the first of equally large classes");
	ok(near(value("log_loss", p, 3, y, 4), loss / 4));
	ok(fabs(value("mean_squared_error", p, 3, y, 1) -
		(.04 + .25 + .09) / 3) < 1e-7);

	const float two[] = { .8f, .2f, .3f, .7f }, last[] = { 0, 1 };

	named(value("auc", two, 2, last, 2) == 1 &&
	      value("precision", two, 2, last, 2) == 1,
	      "of two columns the second is the score");
	named_equals(value("accuracy", p, 3, (float[]){ 9 }, 1), 0,
		     "a label outside the classes counts as a miss");
}

static double
top(uint64_t k, const float *p, const float *y, size_t n)
{
	struct metric m = metric("sparse_top_k_categorical_accuracy");
	struct metric_state s = { 0 };

	m.k = k;
	metric_add(&m, &s, p, 4, y, NULL, n);
	return metric_value(&m, &s);
}

static void
top_of_classes(void)
{
	const float p[] = {
		.1f, .2f, .3f, .4f,
		.4f, .1f, .3f, .2f,
		.2f, .2f, .4f, .2f,	/* three tie with the second */
		NAN, .5f, .3f, .2f,
		.1f, .2f, .3f, INFINITY,
	};
	const float last[] = { 3, 3, 3, 3, 3 }, first[] = { 0, 0, 0, 0, 0 };

	equals(metric("sparse_top_k_categorical_accuracy").k, 5);
	ok(top(1, p, last, 3) == 1. / 3 && top(2, p, last, 3) == 2. / 3);
	ok(top(3, p, last, 3) == 1 && top(1, p, first, 3) == 1. / 3);
	ok(top(2, p, first, 3) == 2. / 3 && top(5, p, first, 3) == 1);
	named(top(5, p, first, 4) == .75 && top(5, p, last, 5) == .8,
	      "a prediction that is not finite is never among the largest");
	named_equals(top(5, p, (float[]){ 9 }, 1), 0,
		     "a label outside the classes is never among the largest");
}

static void
regression(void)
{
	const float p[] = { 1, -2, 3.5f }, y[] = { 2, 2, 3 };

	ok(near(value("mean_squared_error", p, 1, y, 3), 17.25 / 3));
	ok(near(value("root_mean_squared_error", p, 1, y, 3),
		sqrt(17.25 / 3)));
	ok(near(value("mean_absolute_error", p, 1, y, 3), 5.5 / 3));
}

/* Computes the auc by its definition, over all pairs. */
static double
auc_of_pairs(const float *p, const float *y, size_t n)
{
	double won = 0, pairs = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (y[i] == 1 && y[k] == 0) {
				pairs++;
				won += p[i] > p[k] ? 1 : p[i] == p[k] ? .5 : 0;
			}
	return won / pairs;
}

static bool
auc_is_exact(uint64_t seed, uint64_t steps)
{
	struct rng rng = { .seed = seed };
	float p[300], y[300];

	for (size_t i = 0; i < 300; i++) {
		p[i] = (float)rng_below(&rng, steps) / (float)steps - .5f;
		if (p[i] == 0 && i % 2)
			p[i] = -p[i];	/* the other zero */
		y[i] = rng_below(&rng, 3) == 0;
	}
	return value("auc", p, 1, y, 300) == auc_of_pairs(p, y, 300);
}

static void
areas(void)
{
	const float p[] = { .1f, .1f, .9f, NAN }, y[] = { 0, 1, 1, 0 };
	bool exact = true;

	for (uint64_t seed = 0; seed < 20; seed++)
		exact = exact && auc_is_exact(seed, 2 + seed * seed) &&
			auc_is_exact(seed, 1 << 20);
	named(exact, "auc compares all pairs, and counts ties as half");
	ok(value("auc", p, 1, y, 3) == .75);
	ok(value("auc", p, 1, y, 2) == .5);
	named(isnan(value("auc", p + 1, 1, y + 1, 2)) &&
	      isnan(value("auc", p, 1, y, 1)) &&
	      isnan(value("auc", p, 1, y, 0)),
	      "auc of one class, or of nothing, is NaN");
	named(isnan(value("auc", p, 1, y, 4)), "auc does not hide a NaN");
}

static const char *const every[] = {
	"accuracy", "auc", "calibration", "f1_score", "log_loss",
	"mean_absolute_error", "mean_squared_error", "precision", "recall",
	"root_mean_squared_error"
};

/* Does a metric merged from workers with 0, 1, 2 ... examples equal the
   whole? */
static bool
merge_equals_the_whole(const char *name)
{
	const struct metric m = metric(name);
	struct metric_state whole = { 0 }, merged = { 0 }, part = { 0 };
	float p[200], y[200];
	bool same;

	for (uint64_t i = 0; i < 200; i++) {
		p[i] = (float)(rng_at(5, 0, i) % 50) / 49;
		y[i] = rng_at(5, 1, i) % 2;
	}
	metric_add(&m, &whole, p, 1, y, NULL, 200);
	for (size_t at = 0, n = 0; at < 200; at += n, n++) {
		if (n > 200 - at)
			n = 200 - at;
		metric_reset(&part);
		metric_add(&m, &part, p + at, 1, y + at, NULL, n);
		metric_merge(&m, &merged, &part);
	}
	same = near(metric_value(&m, &merged), metric_value(&m, &whole)) &&
	       merged.count == whole.count && metric_value(&m, &whole) > 0;
	metric_release(&whole);
	metric_release(&merged);
	metric_release(&part);
	return same;
}

/* Does an example of weight 3 count as three examples? */
static bool
weighed_equals_often(const char *name)
{
	const struct metric m = metric(name);
	struct metric_state weighed = { 0 }, often = { 0 };
	float p[50], y[50], weight[50];
	bool same;

	for (uint64_t i = 0; i < 50; i++) {
		p[i] = (float)(rng_at(5, 0, i) % 50) / 49;
		y[i] = rng_at(5, 1, i) % 2;
		weight[i] = rng_at(5, 2, i) % 4;
		for (float k = 0; k < weight[i]; k++)
			metric_add(&m, &often, p + i, 1, y + i, NULL, 1);
	}
	metric_add(&m, &weighed, p, 1, y, weight, 50);
	same = near(metric_value(&m, &weighed), metric_value(&m, &often));
	metric_release(&weighed);
	metric_release(&often);
	return same;
}

int
main(void)
{
	struct metric m = { 0 };
	struct fail f;

	binary();
	bounds();
	many();
	classes();
	top_of_classes();
	regression();
	areas();
	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		m = metric(every[i]);
		named_for(merge_equals_the_whole(every[i]),
			  "%s of merged pieces equals that of the whole",
			  every[i]);
		if (!metric_keeps_scores(&m))
			named_for(weighed_equals_often(every[i]), "%s counts "
				  "an example as often as its weight says",
				  every[i]);
		named_for(isnan(value(every[i], NULL, 1, NULL, 0)),
			  "%s of no examples is NaN", every[i]);
		equals(metric_name(&m), every[i]);
	}
	m = (struct metric){ 0 };
	ok(metric_parse(&m, "f1", &f) == -1 && f.kind == FAIL_CONFIG &&
	   strstr(f.text, "'f1'") && strstr(f.text, "accuracy auc") && !m.kind);
	return tap_done();
}
