/*
 * exp and logarithms against the C library's, to the unit in the last place,
 * several at a time and alone.
 */
#include "tensor/elementary.h"

#include "base/rng.h"
#include "tensor/target_clones.h"

#include "tap.h"

#include <stddef.h>

#define MANY	200003		/* no whole number of vectors */

static double x[MANY], y[MANY];

#define LOOP(name)							\
static TARGET_CLONES void						\
name##_all(double *restrict to, const double *restrict from, size_t n)	\
{									\
	for (size_t i = 0; i < n; i++)					\
		to[i] = name(from[i]);					\
}

LOOP(exp_of_negative)
LOOP(log1p_of_fraction)
LOOP(log_of_positive)

/* Returns the error in units in the last place of the expected value. */
static long double
units(double got, long double want)
{
	const double size = fabs((double)want);
	const double unit = nextafter(size, INFINITY) - size;

	return fabsl((long double)got - want) / (long double)unit;
}

static void
check(const char *name, void (*all)(double *restrict, const double *restrict,
				    size_t),
      double (*alone)(double), long double (*exact)(long double))
{
	long double most = 0;
	bool same = true;

	all(y, x, MANY);
	for (size_t i = 0; i < MANY; i++) {
		const long double u = units(y[i], exact((long double)x[i]));

		most = u > most ? u : most;
		same = same && alone(x[i]) == y[i];
	}
	printf("# %.2Lf units at most\n", most);
	named(most < 1.5L, name);
	named(same, "a number alone gives the same bits as among others");
}

/* Returns a number from 0 to 1; small numbers are as likely as others. */
static double
fraction(struct rng *rng)
{
	const double u = rng_unit(rng_next(rng));

	return rng_below(rng, 2) ? u : u * exp2(-(double)rng_below(rng, 60));
}

int
main(void)
{
	struct rng rng = { .seed = 1 };

	for (size_t i = 0; i < MANY; i++)
		x[i] = -708 * fraction(&rng);
	check("exp is within 1.5 units in the last place",
	      exp_of_negative_all, exp_of_negative, expl);
	for (size_t i = 0; i < MANY; i++)
		x[i] = fraction(&rng);
	check("log1p is within 1.5 units in the last place",
	      log1p_of_fraction_all, log1p_of_fraction, log1pl);
	for (size_t i = 0; i < MANY; i++)
		x[i] = i % 2 ? 1 + fraction(&rng) * (i % 4 == 1 ? 1 : -.5) :
		       exp2(2000 * rng_unit(rng_next(&rng)) - 1000);
	check("log is within 1.5 units in the last place",
	      log_of_positive_all, log_of_positive, logl);

	ok(exp_of_negative(0) == 1 && exp_of_negative(-0.) == 1);
	ok(exp_of_negative(-708.5) == 0 && exp_of_negative(-1e300) == 0);
	ok(exp_of_negative(-INFINITY) == 0 && isnan(exp_of_negative(NAN)));
	ok(log1p_of_fraction(0) == 0 && log1p_of_fraction(1) == M_LN2);
	ok(log1p_of_fraction(1e-300) == 1e-300);
	ok(isnan(log1p_of_fraction(NAN)));
	ok(log_of_positive(1) == 0 && log_of_positive(2) == M_LN2);
	ok(isnan(log_of_positive(NAN)));
	return tap_done();
}
