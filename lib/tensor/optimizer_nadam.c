#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

#include <math.h>

#define WARM_UP	1024		/* from there on 1 - 0.96^t / 2 is 1 */

enum { BETA_1, BETA_2, EPSILON };

struct constants {
	float of_m, of_g, root;		/* factors of the moment, the gradient
					   and the root's argument */
	float rest_1, rest_2 /* 1 - beta */, epsilon, rate;
};

/*
 * Dozat, "Incorporating Nesterov momentum into Adam" (2016): uses the moment as
 * it will be after the next gradient, with the present gradient in place of the
 * next one.
 */
static TARGET_CLONES void
nadam(float *restrict w, float *restrict m, float *restrict v, struct step s,
      struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		m[i] += (g - m[i]) * c.rest_1;
		v[i] += (g * g - v[i]) * c.rest_2;
		w[i] = decayed(w[i], s) - c.rate * (c.of_m * m[i] +
						    c.of_g * g) /
			(sqrtf(v[i] * c.root) + c.epsilon);
	}
}

/*
 * For each t up to WARM_UP 0.96^t, and the product of 1 - 0.96^i / 2 for i from
 * 1 to t.
 */
static struct { double fading, product; } warm[WARM_UP + 1];

static void
prepare(struct optimizer *o)
{
	double fading = 1, product = 1;

	optimizer_add_slot(o, "momentum", 0);
	optimizer_add_slot(o, "velocity", 0);
	if (warm[0].product > 0)
		return;
	for (size_t t = 1; t <= WARM_UP; t++) {
		fading *= .96;
		product *= 1 - fading / 2;
		warm[t].fading = fading;
		warm[t].product = product;
	}
	warm[0].fading = warm[0].product = 1;
}

/*
 * Keras's schedule of the momentum, at update t; and the product of the momenta
 * of the updates 1 to t.
 */
static double
momentum_at(double beta_1, uint64_t t)
{
	return t <= WARM_UP ? beta_1 * (1 - warm[t].fading / 2) : beta_1;
}

static double
product_at(double beta_1, uint64_t t)
{
	return optimizer_power(beta_1, t) *
		warm[t < WARM_UP ? t : WARM_UP].product;
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	const double beta_1 = o->hyper[BETA_1], beta_2 = o->hyper[BETA_2];
	const struct constants c = {
		.of_m = (float)(momentum_at(beta_1, u->t + 1) /
				(1 - product_at(beta_1, u->t + 1))),
		.of_g = (float)((1 - momentum_at(beta_1, u->t)) /
				(1 - product_at(beta_1, u->t))),
		.root = (float)(1 / (1 - optimizer_power(beta_2, u->t))),
		.rest_1 = (float)(1 - beta_1),
		.rest_2 = (float)(1 - beta_2),
		.epsilon = (float)o->hyper[EPSILON],
		.rate = u->learning_rate
	};

	nadam(u->w, u->slot[0], u->slot[1], step_of(o, u), c);
}

const struct optimizer_kind optimizer_nadam = {
	.name = "nadam", .learning_rate = .001f,
	.hyper = {
		[BETA_1] = { "beta_1", NULL, HYPER_FRACTION, .9 },
		[BETA_2] = { "beta_2", NULL, HYPER_FRACTION, .999 },
		[EPSILON] = { "epsilon", NULL, HYPER_POSITIVE, 1e-7 },
	},
	.prepare = prepare, .apply = apply
};
