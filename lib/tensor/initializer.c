#include "tensor/initializer.h"

#include "base/choices.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "tensor/target_clones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	256	/* values */

/* The probability that a standard normal variable is below -2. */
#define CUT	.022750131948179209

/*
 * Each element takes one random number, and arithmetic that rounds alike
 * everywhere (libm is avoided, since its last bits depend on the processor).
 * So any slice has the same bits on any machine.
 */

/* Return a number above 0 and below 1, with the same distance from both. */
static double
unit(uint64_t bits)
{
	return ((double)(bits >> 12) + .5) * 0x1p-52;
}

/*
 * Return the natural logarithm of x = 2^e m, as e log 2 + log m, by the series
 * of artanh((m - 1) / (m + 1)).
 */
static double
logarithm(double x)
{
	int e;
	double m = frexp(x, &e), s, square, sum = 0;

	if (m < .70710678118654752) {
		m *= 2;
		e--;
	}
	s = (m - 1) / (m + 1);		/* within .172 */
	square = s * s;
	for (int k = 19; k > 1; k -= 2)
		sum = (sum + 1. / k) * square;
	return e * .69314718055994531 + 2 * s * (1 + sum);
}

/*
 * The quantile of a standard normal distribution: Wichura, "The percentage
 * points of the normal distribution" (1988), algorithm AS 241, PPND7; good to
 * 1e-7.  There is one function for p within .425 of a half, and one for the
 * others.
 */
static inline bool
is_central(double p)
{
	return fabs(p - .5) <= .425;
}

static inline double
central_quantile(double p)
{
	const double q = p - .5, r = .180625 - q * q;

	return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) *
		    r + 3.3871327179) /
	       (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r +
		1);
}

static double
outer_quantile(double p)
{
	double r = sqrt(-logarithm(p < .5 ? p : 1 - p)), z;

	if (r <= 5) {
		r -= 1.6;
		z = (((.17023821103 * r + 1.3067284816) * r + 2.7568153900) *
		     r + 1.4234372777) /
		    ((.12021132975 * r + .73700164250) * r + 1);
	} else {
		r -= 5;
		z = (((.017337203997 * r + .42868294337) * r + 3.0812263860) *
		     r + 6.6579051150) /
		    ((.012258202635 * r + .24197894225) * r + 1);
	}
	return p < .5 ? -z : z;
}

enum fan { FAN_NONE, FAN_IN, FAN_AVERAGE };

struct initializer_kind {
	const char *name;
	enum draw { CONSTANT, UNIFORM, NORMAL, TRUNCATED } draw;
	enum fan fan;		/* the fan that divides the scale, if any */
	double scale;		/* the variance times the fan */
	float a, b;		/* defaults, if there is no fan */
	size_t min, max;	/* numbers that the text may have */
};

static const struct initializer_kind kinds[] = {
	{ .name = "constant", .draw = CONSTANT, .max = 1 },
	{ .name = "glorot_normal", .draw = TRUNCATED,
	  .fan = FAN_AVERAGE, .scale = 1 },
	{ .name = "glorot_uniform", .draw = UNIFORM,
	  .fan = FAN_AVERAGE, .scale = 1 },
	{ .name = "he_normal", .draw = TRUNCATED, .fan = FAN_IN, .scale = 2 },
	{ .name = "he_uniform", .draw = UNIFORM, .fan = FAN_IN, .scale = 2 },
	{ .name = "lecun_normal", .draw = TRUNCATED,
	  .fan = FAN_IN, .scale = 1 },
	{ .name = "lecun_uniform", .draw = UNIFORM,
	  .fan = FAN_IN, .scale = 1 },
	{ .name = "ones", .draw = CONSTANT, .a = 1 },
	{ .name = "random_normal", .draw = NORMAL, .b = .05f,
	  .min = 1, .max = 2 },
	{ .name = "random_uniform", .draw = UNIFORM, .a = -.05f, .b = .05f,
	  .min = 2, .max = 2 },
	{ .name = "truncated_normal", .draw = TRUNCATED, .b = .05f,
	  .min = 1, .max = 2 },
	{ .name = "zeros", .draw = CONSTANT },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static const struct initializer_kind *
find(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

/*
 * Read the numbers of the text.  A normal distribution takes a single number as
 * its stddev, the second of the pair.
 */
static bool
numbers_fit(struct initializer *p, char **word, size_t n)
{
	const struct initializer_kind *kind = p->kind;

	if (n == 0)
		return true;
	if (n < kind->min || n > kind->max)
		return false;
	if (kind->draw == CONSTANT)
		return text_float(word[0], &p->a);
	if (n == 2 && !text_float(word[0], &p->a))
		return false;
	if (!text_float(word[n - 1], &p->b))
		return false;
	return kind->draw == UNIFORM ? p->a <= p->b : p->b >= 0;
}

static int
unknown(const char *text, struct fail *f)
{
	struct choices names = { .word = text };

	for (size_t i = 0; i < KINDS; i++)
		choices_add(&names, kinds[i].name);
	return choices_refuse(&names, FAIL_CONFIG, NULL, "initializer", f);
}

int
initializer_parse(struct initializer *initializer, const char *text,
		  struct fail *f)
{
	char *copy = mem_text(text);
	size_t n;
	char **word = text_split(copy, ':', &n);
	struct initializer p = { .kind = n > 0 ? find(word[0]) : NULL };
	int rc = 0;

	if (!p.kind) {
		rc = unknown(text, f);
		goto out;
	}
	p.a = p.kind->a;
	p.b = p.kind->b;
	if (!numbers_fit(&p, word + 1, n - 1)) {
		rc = fail(f, FAIL_CONFIG, "initializer '%s' is not in a form "
			  "like random_uniform:MIN:MAX, random_normal:STDDEV, "
			  "random_normal:MEAN:STDDEV or constant:VALUE", text);
		goto out;
	}
	*initializer = p;
out:
	free(word);
	free(copy);
	return rc;
}

bool
initializer_zeros(const struct initializer *p)
{
	const enum draw draw = p->kind ? p->kind->draw : CONSTANT;

	return !initializer_has_fan(p) && p->a == 0 &&
		(draw == CONSTANT || p->b == 0);
}

bool
initializer_has_fan(const struct initializer *p)
{
	return p->kind && p->kind->fan != FAN_NONE;
}

/*
 * Return the fan, at least 1, as Keras's compute_fans: the last two axes are in
 * and out, and the axes before them are a receptive field, whose size
 * multiplies both.
 */
static double
fan_of(enum fan fan, struct shape s)
{
	double in = 1, out = 1;

	if (s.rank == 1)
		in = out = (double)s.dim[0];
	if (s.rank >= 2) {
		in = (double)s.dim[s.rank - 2];
		out = (double)s.dim[s.rank - 1];
	}
	for (int i = 0; i < s.rank - 2; i++) {
		in *= (double)s.dim[i];
		out *= (double)s.dim[i];
	}
	return fmax(1, fan == FAN_IN ? in : (in + out) / 2);
}

/* Keras's VarianceScaling (Glorot and Bengio 2010, He and others 2015). */
static void
scale(const struct initializer_kind *kind, struct shape s, double *a,
      double *b)
{
	const double variance = kind->scale / fan_of(kind->fan, s);

	if (kind->draw == UNIFORM) {
		*b = sqrt(3 * variance);
		*a = -*b;
	} else {
		/*
		 * A distribution cut at 2 stddev has .87962566103423978 of it.
		 */
		*b = sqrt(variance) / .87962566103423978;
		*a = 0;
	}
}

/* Elements to draw, and the two numbers of the distribution. */
struct draws {
	uint64_t seed, stream, first;
	double a, b;
};

static TARGET_CLONES void
fill_uniform(const struct draws *d, float *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const double u = unit(rng_at(d->seed, d->stream,
					     d->first + i));

		values[i] = (float)(d->a + (d->b - d->a) * u);
	}
}

/*
 * Draw from a normal distribution of which the share `below` is cut off at both
 * ends; 0: none.  The few values far from the middle need a slower function and
 * a branch, so they are computed after the others of their block.
 */
static TARGET_CLONES void
fill_normal(const struct draws *d, double below, float *values, size_t n)
{
	double p[BLOCK], z[BLOCK];

	for (size_t at = 0, some; at < n; at += some) {
		some = n - at < BLOCK ? n - at : BLOCK;
		for (size_t i = 0; i < some; i++) {
			p[i] = below + (1 - 2 * below) *
				unit(rng_at(d->seed, d->stream,
					    d->first + at + i));
			z[i] = central_quantile(p[i]);
		}
		for (size_t i = 0; i < some; i++)
			if (!is_central(p[i]))
				z[i] = outer_quantile(p[i]);
		for (size_t i = 0; i < some; i++)
			values[at + i] = (float)(d->a + d->b * z[i]);
	}
}

void
initializer_fill(const struct initializer *p, const char *name,
		 struct shape shape, uint64_t seed, size_t first,
		 float *values, size_t n)
{
	struct draws d = { seed, hash64(name, strlen(name)), first,
			   (double)p->a, (double)p->b };

	if (initializer_has_fan(p))
		scale(p->kind, shape, &d.a, &d.b);
	switch (p->kind ? p->kind->draw : CONSTANT) {
	case CONSTANT:
		for (size_t i = 0; i < n; i++)
			values[i] = p->a;
		break;
	case UNIFORM:
		fill_uniform(&d, values, n);
		break;
	case NORMAL:
		fill_normal(&d, 0, values, n);
		break;
	case TRUNCATED:
		fill_normal(&d, CUT, values, n);
		break;
	}
}
