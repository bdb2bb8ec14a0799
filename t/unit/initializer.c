/* Initial values: their bounds, their moments, and the same bits when a
   variable is cut into pieces. */
#include "tensor/initializer.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N	40000

static const struct shape matrix = { 2, { 200, 200 } };
static float values[N];

static struct initializer
initializer(const char *text)
{
	struct initializer p = { 0 };
	struct fail f;

	if (initializer_parse(&p, text, &f) < 0)
		printf("Bail out! %s\n", f.text);
	return p;
}

static void
fill(const char *text, struct shape shape)
{
	const struct initializer p = initializer(text);

	initializer_fill(&p, "w", shape, 1, 0, values, N);
}

static bool
refused(const char *text)
{
	struct initializer p = { 0 };
	struct fail f = { .text = "" };

	return initializer_parse(&p, text, &f) == -1 && !p.kind &&
	       f.kind == FAIL_CONFIG && strstr(f.text, text);
}

static double
moment(double around, int power)
{
	double sum = 0;

	for (int i = 0; i < N; i++)
		sum += pow((double)values[i] - around, power);
	return sum / N;
}

static double
share_below(double x)
{
	int n = 0;

	for (int i = 0; i < N; i++)
		n += (double)values[i] < x;
	return (double)n / N;
}

static bool
within(double lo, double hi)
{
	for (int i = 0; i < N; i++)
		if ((double)values[i] < lo || (double)values[i] > hi)
			return false;
	return true;
}

/* Is the mean of 40,000 numbers within five standard errors? */
static bool
mean_is(double mean, double stddev)
{
	return fabs(moment(0, 1) - mean) < 5 * stddev / sqrt(N);
}

static bool
share_is(double x, double share)
{
	return fabs(share_below(x) - share) < 5 * .5 / sqrt(N);
}

static bool
is_uniform(double lo, double hi)
{
	const double width = hi - lo;

	/* The float beside the end may be the nearest one. */
	return within(lo - 1e-7 * fabs(lo), hi + 1e-7 * fabs(hi)) &&
	       mean_is((lo + hi) / 2, width / sqrt(12)) &&
	       share_is(lo + .1 * width, .1) && share_is(hi - .25 * width, .75);
}

/* Returns the distribution function of the standard normal. */
static double
phi(double z)
{
	return erfc(-z / sqrt(2)) / 2;
}

static bool
is_normal(double mean, double stddev)
{
	for (double z = -3; z <= 3; z += .25)
		if (!share_is(mean + z * stddev, phi(z)))
			return false;
	return mean_is(mean, stddev) &&
	       !within(mean - 3 * stddev, mean + 3 * stddev);
}

/* stddev: that of the normal distribution before it is truncated. */
static bool
is_truncated(double mean, double stddev)
{
	const double whole = phi(2) - phi(-2);

	for (double z = -1.75; z < 2; z += .25)
		if (!share_is(mean + z * stddev, (phi(z) - phi(-2)) / whole))
			return false;
	return within(mean - 2.00001 * stddev, mean + 2.00001 * stddev) &&
	       mean_is(mean, stddev) && !share_is(mean + stddev, phi(1));
}

static bool
deviation_is(double stddev)
{
	return fabs(sqrt(moment(0, 2)) / stddev - 1) < .02;
}

static void
plain(void)
{
	fill("zeros", matrix);
	ok(within(0, 0));
	fill("ones", matrix);
	ok(within(1, 1));
	fill("constant:-.25", matrix);
	ok(within(-.25, -.25));
	fill("constant", matrix);
	ok(within(0, 0));
	fill("random_uniform", matrix);
	ok(is_uniform(-.05, .05));
	fill("random_uniform:1:4", matrix);
	ok(is_uniform(1, 4));
	fill("random_normal", matrix);
	ok(is_normal(0, .05));
	fill("random_normal:2", matrix);
	ok(is_normal(0, 2));
	fill("random_normal:1:.5", matrix);
	ok(is_normal(1, .5));
	fill("truncated_normal", matrix);
	ok(is_truncated(0, .05));
	fill("truncated_normal:-1:2", matrix);
	ok(is_truncated(-1, 2));
	fill("random_normal:3:0", matrix);
	ok(within(3, 3));
}

static void
by_fan(void)
{
	const struct shape wide = { 2, { 100, 400 } };	/* fans 100, 400 */
	const struct shape image = { 4, { 5, 5, 40, 40 } };
	const struct shape vector = { 1, { N } }, number = { 0 };
	const double cut = .87962566103423978;

	fill("glorot_uniform", wide);
	ok(is_uniform(-sqrt(6. / 500), sqrt(6. / 500)));
	fill("he_uniform", wide);
	ok(is_uniform(-sqrt(6. / 100), sqrt(6. / 100)));
	fill("lecun_uniform", wide);
	ok(is_uniform(-sqrt(3. / 100), sqrt(3. / 100)));
	fill("glorot_normal", wide);
	ok(deviation_is(sqrt(2. / 500)) &&
	   is_truncated(0, sqrt(2. / 500) / cut));
	fill("he_normal", wide);
	ok(deviation_is(sqrt(2. / 100)) &&
	   is_truncated(0, sqrt(2. / 100) / cut));
	fill("lecun_normal", wide);
	ok(deviation_is(sqrt(1. / 100)) &&
	   is_truncated(0, sqrt(1. / 100) / cut));
	fill("glorot_uniform", image);
	named(is_uniform(-sqrt(6. / 2000), sqrt(6. / 2000)),
	      "the axes before the last two count as a receptive field");
	fill("glorot_uniform", vector);
	named(is_uniform(-sqrt(3. / N), sqrt(3. / N)),
	      "both fans of a vector are its size");
	fill("glorot_uniform", number);
	ok(is_uniform(-sqrt(3), sqrt(3)));
}

/* Do slices of all sizes, in any order, equal the whole variable? */
static bool
slices_equal_the_whole(const char *text)
{
	const struct initializer p = initializer(text);
	float *whole = malloc(N * sizeof(float));
	bool same;

	initializer_fill(&p, "emb/embeddings", matrix, 42, 0, whole, N);
	for (size_t end = N, n = 1; end > 0; end -= n, n = (n * 7 + 1) % 900) {
		if (n > end)
			n = end;
		initializer_fill(&p, "emb/embeddings", matrix, 42, end - n,
				 values + end - n, n);
	}
	same = same_floats(whole, values, N);
	free(whole);
	return same;
}

static bool
differ(const char *name, uint64_t seed)
{
	const struct initializer p = initializer("random_uniform");
	float a[50], b[50];
	int equal = 0;

	initializer_fill(&p, "a", matrix, 1, 0, a, 50);
	initializer_fill(&p, name, matrix, seed, 0, b, 50);
	for (int i = 0; i < 50; i++)
		equal += a[i] == b[i];
	return equal == 0;
}

/* From the same bits, the distribution function of the normal number gives the
   uniform one. */
static bool
normal_is_the_quantile(void)
{
	double worst = 0;
	float *u = malloc(N * sizeof(float));

	fill("random_uniform:0:1", matrix);
	memcpy(u, values, N * sizeof(float));
	fill("random_normal:1", matrix);
	for (int i = 0; i < N; i++)
		worst = fmax(worst, fabs(phi((double)values[i]) -
					 (double)u[i]));
	free(u);
	return worst < 2e-7;
}

/* These values were recorded once: the initial values of old runs must never
   change. */
static void
values_are_for_ever(void)
{
	const struct initializer uniform = initializer("random_uniform");
	const struct initializer normal = initializer("random_normal");
	float u[3], n[3];

	initializer_fill(&uniform, "w", matrix, 1, 0, u, 3);
	initializer_fill(&normal, "w", matrix, 1, 0, n, 3);
	ok(u[0] == -0x1.0c3966p-5f && u[1] == -0x1.98ca3cp-7f &&
	   u[2] == 0x1.98752p-6f);
	ok(n[0] == -0x1.82ac6cp-5f && n[1] == -0x1.047edp-6f &&
	   n[2] == 0x1.135f74p-5f);
}

int
main(void)
{
	const struct initializer empty = { 0 };
	float x = 7;

	plain();
	by_fan();
	named(slices_equal_the_whole("random_uniform"),
	      "P8 random_uniform gives slices the bits of the whole variable");
	named(slices_equal_the_whole("random_normal"),
	      "P8 random_normal gives slices the bits of the whole variable");
	named(slices_equal_the_whole("glorot_normal"),
	      "P8 glorot_normal gives slices the bits, and the fans, of the "
	      "whole variable");
	ok(normal_is_the_quantile());
	ok(differ("b", 1) && differ("a", 2) && !differ("a", 1));
	values_are_for_ever();
	initializer_fill(&empty, "w", matrix, 1, 0, &x, 1);
	equals(x, 0);
	ok(refused("") && refused("uniforms") && refused("zeros:1") &&
	   refused("glorot_uniform:1"));
	ok(refused("random_uniform:1") && refused("random_uniform:2:1") &&
	   refused("random_uniform:1:2:3") && refused("random_uniform:a:b"));
	ok(refused("random_normal:-1") && refused("random_normal:1:-1") &&
	   refused("constant:") && refused("constant:nan"));
	return tap_done();
}
