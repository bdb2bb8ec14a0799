#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

#include <math.h>

enum { BETA_1, BETA_2, EPSILON, AMSGRAD };

struct constants {
	float alpha, rest_1, rest_2 /* 1 - beta */, epsilon;
};

/*
 * Kingma and Ba, "Adam" (2015), in the form just before their section 2.1,
 * which is Keras's, too: alpha includes both bias corrections.
 */
static TARGET_CLONES void
adam(float *restrict w, float *restrict m, float *restrict v, struct step s,
     struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		m[i] += (g - m[i]) * c.rest_1;
		v[i] += (g * g - v[i]) * c.rest_2;
		w[i] = decayed(w[i], s) -
			c.alpha * m[i] / (sqrtf(v[i]) + c.epsilon);
	}
}

/* Reddi, Kale and Kumar, "On the convergence of Adam and beyond" (2018). */
static TARGET_CLONES void
amsgrad(float *restrict w, float *restrict m, float *restrict v,
	float *restrict h, struct step s, struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		m[i] += (g - m[i]) * c.rest_1;
		v[i] += (g * g - v[i]) * c.rest_2;
		h[i] = v[i] > h[i] ? v[i] : h[i];
		w[i] = decayed(w[i], s) -
			c.alpha * m[i] / (sqrtf(h[i]) + c.epsilon);
	}
}

/*
 * Section 7.1 of "Adam": the largest gradient so far, which fades by beta_2
 * with each update, takes the place of the root.
 */
static TARGET_CLONES void
adamax(float *restrict w, float *restrict m, float *restrict u,
       struct step s, float alpha, float rest_1, float beta_2, float epsilon)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);
		const float size = g < 0 ? -g : g;
		const float faded = beta_2 * u[i];

		m[i] += (g - m[i]) * rest_1;
		u[i] = faded > size ? faded : size;
		w[i] = decayed(w[i], s) - alpha * m[i] / (u[i] + epsilon);
	}
}

static void
prepare(struct optimizer *o)
{
	optimizer_add_slot(o, "momentum", 0);
	optimizer_add_slot(o, "velocity", 0);
	if (o->hyper[AMSGRAD] > 0)
		optimizer_add_slot(o, "velocity_hat", 0);
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	const double beta_1 = o->hyper[BETA_1], beta_2 = o->hyper[BETA_2];
	const struct constants c = {
		.alpha = (float)((double)u->learning_rate *
				 sqrt(1 - optimizer_power(beta_2, u->t)) /
				 (1 - optimizer_power(beta_1, u->t))),
		.rest_1 = (float)(1 - beta_1),
		.rest_2 = (float)(1 - beta_2),
		.epsilon = (float)o->hyper[EPSILON]
	};

	if (o->hyper[AMSGRAD] > 0)
		amsgrad(u->w, u->slot[0], u->slot[1], u->slot[2],
			step_of(o, u), c);
	else
		adam(u->w, u->slot[0], u->slot[1], step_of(o, u), c);
}

static void
prepare_max(struct optimizer *o)
{
	optimizer_add_slot(o, "momentum", 0);
	optimizer_add_slot(o, "norm", 0);
}

static void
apply_max(const struct optimizer *o, const struct update *u)
{
	const double beta_1 = o->hyper[BETA_1];

	adamax(u->w, u->slot[0], u->slot[1], step_of(o, u),
	       (float)((double)u->learning_rate /
		       (1 - optimizer_power(beta_1, u->t))),
	       (float)(1 - beta_1), (float)o->hyper[BETA_2],
	       (float)o->hyper[EPSILON]);
}

const struct optimizer_kind optimizer_adam = {
	.name = "adam", .learning_rate = .001f,
	.hyper = {
		[BETA_1] = { "beta_1", NULL, HYPER_FRACTION, .9 },
		[BETA_2] = { "beta_2", NULL, HYPER_FRACTION, .999 },
		[EPSILON] = { "epsilon", NULL, HYPER_POSITIVE, 1e-7 },
		[AMSGRAD] = { "amsgrad", NULL, HYPER_BOOL, 0 },
	},
	.prepare = prepare, .apply = apply
};

/* Adam with a weight decay by default. */
const struct optimizer_kind optimizer_adamw = {
	.name = "adamw", .learning_rate = .001f, .weight_decay = .004f,
	.hyper = {
		[BETA_1] = { "beta_1", NULL, HYPER_FRACTION, .9 },
		[BETA_2] = { "beta_2", NULL, HYPER_FRACTION, .999 },
		[EPSILON] = { "epsilon", NULL, HYPER_POSITIVE, 1e-7 },
		[AMSGRAD] = { "amsgrad", NULL, HYPER_BOOL, 0 },
	},
	.prepare = prepare, .apply = apply
};

const struct optimizer_kind optimizer_adamax = {
	.name = "adamax", .learning_rate = .001f,
	.hyper = {
		[BETA_1] = { "beta_1", NULL, HYPER_FRACTION, .9 },
		[BETA_2] = { "beta_2", NULL, HYPER_FRACTION, .999 },
		[EPSILON] = { "epsilon", NULL, HYPER_POSITIVE, 1e-7 },
	},
	.prepare = prepare_max, .apply = apply_max
};
