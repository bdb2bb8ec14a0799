/* Bounds on the mean gradient, against their definitions. */
#include "tensor/clip.h"

#include "base/rng.h"

#include "tap.h"

#include <math.h>
#include <string.h>

#define SIZE	30

struct case_ {
	struct variable variable[3];
	float sum[3][SIZE], before[3][SIZE];
	struct gradient g[3];
};

/* Makes sums over the examples for variables of 5 x 6, 10 x 3 and 1 x 30. */
static void
make(struct case_ *c, const struct optimizer *o, const struct optimizer *last)
{
	const size_t rows[] = { 5, 10, 1 };

	*c = (struct case_){ 0 };
	for (uint64_t k = 0; k < 3; k++) {
		c->variable[k].optimizer = k < 2 ? o : last;
		for (uint64_t i = 0; i < SIZE; i++)
			c->sum[k][i] = (float)(rng_unit(rng_at(1, k, i)) - .5) *
				       (float)(40 * (k + 1));
		memcpy(c->before[k], c->sum[k], sizeof(c->sum[k]));
		c->g[k] = (struct gradient){ &c->variable[k], c->sum[k],
					     rows[k], SIZE / rows[k] };
	}
}

/* Returns the norm of the mean gradient of variables from to to - 1. */
static double
norm(float (*sum)[SIZE], int from, int to, double examples)
{
	double squares = 0;

	for (int k = from; k < to; k++)
		for (int i = 0; i < SIZE; i++)
			squares += pow((double)sum[k][i] / examples, 2);
	return sqrt(squares);
}

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

static bool
scaled(const struct case_ *c, int k, double by)
{
	for (int i = 0; i < SIZE; i++)
		if (!near((double)c->sum[k][i], by * (double)c->before[k][i]))
			return false;
	return true;
}

static bool
untouched(const struct case_ *c, int k)
{
	return memcmp(c->sum[k], c->before[k], sizeof(c->sum[k])) == 0;
}

static void
by_value(void)
{
	const struct optimizer o = { .clipvalue = 1.5f }, none = { 0 };
	struct case_ c;
	bool good = true;
	int cut = 0;

	make(&c, &o, &none);
	clip_gradients(c.g, 3, 4);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < SIZE; i++) {
			const double mean = (double)c.before[k][i] / 4;
			const double x = fmin(fmax(mean, -1.5), 1.5);

			cut += x != mean;
			good = good && near((double)c.sum[k][i] / 4, x);
		}
	named(good && cut > 5 && cut < 55,
	      "clipvalue bounds each mean gradient by itself");
	ok(untouched(&c, 2));
}

static void
by_norm(void)
{
	const struct optimizer o = { .clipnorm = 12 };
	const struct optimizer wide = { .clipnorm = 99 };
	struct case_ c;

	make(&c, &o, &wide);

	const double first = norm(c.before, 0, 1, 4);
	const double second = norm(c.before, 1, 2, 4);

	clip_gradients(c.g, 3, 4);
	ok(first > 12 && second > first + 1);
	named(scaled(&c, 0, 12 / first) && scaled(&c, 1, 12 / second),
	      "clipnorm scales each variable by its own norm");
	named(untouched(&c, 2),
	      "clipnorm changes no bit of a gradient within the bound");
	ok(near(norm(c.sum, 0, 1, 4), 12) && near(norm(c.sum, 1, 2, 4), 12));
}

static void
by_global_norm(void)
{
	const struct optimizer o = { .global_clipnorm = 2 };
	const struct optimizer other = { .global_clipnorm = 3 };
	struct case_ c;

	make(&c, &o, &o);

	const double all = norm(c.before, 0, 3, 10);
	const double two = norm(c.before, 0, 2, 10);
	const double last = norm(c.before, 2, 3, 10);

	clip_gradients(c.g, 3, 10);
	named(all > 2 && scaled(&c, 0, 2 / all) && scaled(&c, 1, 2 / all) &&
	      scaled(&c, 2, 2 / all),
	      "global_clipnorm scales all variables by one factor");
	make(&c, &o, &other);
	clip_gradients(c.g, 3, 10);
	named(scaled(&c, 0, 2 / two) && scaled(&c, 1, 2 / two) &&
	      scaled(&c, 2, 3 / last),
	      "global_clipnorm takes the norm over the variables of one "
	      "optimizer");
}

/* The factor for these sums is no normal float. */
static void
of_huge_sums(void)
{
	const struct optimizer each = { .clipnorm = 1e-3F };
	const struct optimizer all = { .global_clipnorm = 1e-3F };
	struct case_ c;

	for (int global = 0; global < 2; global++) {
		make(&c, global ? &all : &each, NULL);
		for (int i = 0; i < SIZE; i++) {
			c.sum[0][i] = i % 2 ? 3e38F : -3e38F;
			c.sum[1][i] = 3e37F;
		}
		clip_gradients(c.g, 2, 1);
		named(near(norm(c.sum, 0, global ? 2 : 1, 1), 1e-3),
		      "sums near the largest float are clipped, and not to 0");
	}
}

/* Rows may come in any shards; the norm is summed by rows in any case. */
static void
rows_decide_not_shards(void)
{
	const struct optimizer o = { .global_clipnorm = 2 };
	struct case_ a, b;

	make(&a, &o, &o);
	make(&b, &o, &o);
	clip_gradients(a.g, 2, 10);

	/* The ten rows of the second variable come as two gradients, of four
	   and six. */
	b.g[1].rows = 4;
	b.g[2] = (struct gradient){ &b.variable[1], b.sum[1] + 12, 6, 3 };
	clip_gradients(b.g, 3, 10);
	ok(memcmp(a.sum[0], b.sum[0], sizeof(a.sum[0])) == 0 &&
	   memcmp(a.sum[1], b.sum[1], sizeof(a.sum[1])) == 0);
}

static void
odd_ones(void)
{
	const struct optimizer o = { .clipnorm = 1 }, v = { .clipvalue = 1 };
	struct case_ c;

	make(&c, &o, NULL);
	memset(c.sum[0], 0, sizeof(c.sum[0]));
	c.sum[1][3] = NAN;
	clip_gradients(c.g, 3, 1);
	named_equals(norm(c.sum, 0, 1, 1), 0,
		     "clipping a gradient of norm 0 leaves 0");
	named(isnan(c.sum[1][3]), "clipnorm does not hide a NaN");
	ok(untouched(&c, 2));
	make(&c, &v, NULL);
	c.sum[1][3] = NAN;
	clip_gradients(c.g, 3, 1);
	named(isnan(c.sum[1][3]), "clipvalue does not hide a NaN");
	clip_gradients(NULL, 0, 1);
}

int
main(void)
{
	by_value();
	by_norm();
	by_global_norm();
	of_huge_sums();
	rows_decide_not_shards();
	odd_ones();
	return tap_done();
}
