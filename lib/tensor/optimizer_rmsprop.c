#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

#include <math.h>

enum { RHO, MOMENTUM, EPSILON, CENTERED };

struct constants {
	float rho, rest /* 1 - rho */, momentum, epsilon;
};

/* Hinton, "Neural networks for machine learning", lecture 6 (2012). */
static TARGET_CLONES void
plain(float *restrict w, float *restrict v, struct step s, struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		v[i] = c.rho * v[i] + c.rest * (g * g);
		w[i] = decayed(w[i], s) - s.rate * g / sqrtf(v[i] + c.epsilon);
	}
}

static TARGET_CLONES void
with_momentum(float *restrict w, float *restrict v, float *restrict m,
	      struct step s, struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		v[i] = c.rho * v[i] + c.rest * (g * g);
		m[i] = c.momentum * m[i] +
		       s.rate * g / sqrtf(v[i] + c.epsilon);
		w[i] = decayed(w[i], s) - m[i];
	}
}

/*
 * Return the variance v - b^2.  Rounding may take it below 0, where Keras gets
 * NaN; here it is 0 then.
 */
static inline float
variance(float v, float b)
{
	const float d = v - b * b;

	return d < 0 ? 0 : d;
}

/* Graves, "Generating sequences with recurrent neural networks" (2013). */
static TARGET_CLONES void
centered(float *restrict w, float *restrict v, float *restrict b,
	 struct step s, struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		v[i] = c.rho * v[i] + c.rest * (g * g);
		b[i] = c.rho * b[i] + c.rest * g;
		w[i] = decayed(w[i], s) - s.rate * g /
			sqrtf(variance(v[i], b[i]) + c.epsilon);
	}
}

static TARGET_CLONES void
centered_with_momentum(float *restrict w, float *restrict v,
		       float *restrict m, float *restrict b, struct step s,
		       struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		v[i] = c.rho * v[i] + c.rest * (g * g);
		b[i] = c.rho * b[i] + c.rest * g;
		m[i] = c.momentum * m[i] + s.rate * g /
		       sqrtf(variance(v[i], b[i]) + c.epsilon);
		w[i] = decayed(w[i], s) - m[i];
	}
}

static void
prepare(struct optimizer *o)
{
	optimizer_add_slot(o, "velocity", 0);
	if (o->hyper[MOMENTUM] > 0)
		optimizer_add_slot(o, "momentum", 0);
	if (o->hyper[CENTERED] > 0)
		optimizer_add_slot(o, "average_gradient", 0);
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	float *const *slot = u->slot;
	const struct step s = step_of(o, u);
	const struct constants c = {
		.rho = (float)o->hyper[RHO],
		.rest = (float)(1 - o->hyper[RHO]),
		.momentum = (float)o->hyper[MOMENTUM],
		.epsilon = (float)o->hyper[EPSILON]
	};

	if (o->slots == 1)
		plain(u->w, slot[0], s, c);
	else if (o->slots == 3)
		centered_with_momentum(u->w, slot[0], slot[1], slot[2], s, c);
	else if (o->hyper[CENTERED] > 0)
		centered(u->w, slot[0], slot[1], s, c);
	else
		with_momentum(u->w, slot[0], slot[1], s, c);
}

const struct optimizer_kind optimizer_rmsprop = {
	.name = "rmsprop", .learning_rate = .001f,
	.hyper = {
		[RHO] = { "rho", NULL, HYPER_FRACTION, .9 },
		[MOMENTUM] = { "momentum", NULL, HYPER_FRACTION, 0 },
		[EPSILON] = { "epsilon", NULL, HYPER_POSITIVE, 1e-7 },
		[CENTERED] = { "centered", NULL, HYPER_BOOL, 0 },
	},
	.prepare = prepare, .apply = apply
};
