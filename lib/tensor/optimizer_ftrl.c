#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

#include <float.h>
#include <math.h>

enum { POWER, START, L1, L2, SHRINKAGE, BETA };

struct constants {
	float inverse /* 1 / learning rate */, power /* -learning_rate_power */;
	float l1, l2, shrinkage;
};

/*
 * McMahan and others, "Ad click prediction: a view from the trenches" (2013),
 * in Keras's form.  r0 and r are the accumulator before and after this update,
 * to the power -learning_rate_power.  q is 0 only while the accumulator is 0
 * and there is no L2 regularization: all gradients so far were 0.
 */
static inline float
weight(float w, float *z, float g, float r0, float r, struct constants c)
{
	*z += g + 2 * c.shrinkage * w - (r - r0) * c.inverse * w;

	const float low = *z < -c.l1 ? -c.l1 : *z;
	const float clipped = low > c.l1 ? c.l1 : low;
	const float q = r * c.inverse + 2 * c.l2;

	return q == 0 ? 0 : (clipped - *z) / q;
}

/* The default power, -0.5: square roots can be vectorized. */
static TARGET_CLONES void
by_root(float *restrict w, float *restrict a, float *restrict z,
	struct step s, struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i), sum = a[i] + g * g;

		w[i] = weight(decayed(w[i], s), &z[i], g, sqrtf(a[i]),
			      sqrtf(sum), c);
		a[i] = sum;
	}
}

static void
by_power(float *restrict w, float *restrict a, float *restrict z,
	 struct step s, struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i), sum = a[i] + g * g;

		w[i] = weight(decayed(w[i], s), &z[i], g, powf(a[i], c.power),
			      powf(sum, c.power), c);
		a[i] = sum;
	}
}

static void
prepare(struct optimizer *o)
{
	optimizer_add_slot(o, "accumulator", o->hyper[START]);
	optimizer_add_slot(o, "linear", 0);
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	const struct step s = step_of(o, u);
	const float rate = u->learning_rate;

	/*
	 * The rate may be 0 at the end of a schedule.  Then nothing moves; nor
	 * does anything where the rate is so small that its reciprocal
	 * overflows.
	 */
	if (!(rate >= FLT_MIN))
		return;

	const struct constants c = {
		.inverse = (float)(1 / (double)rate),
		.power = (float)-o->hyper[POWER],
		.l1 = (float)o->hyper[L1],
		.l2 = (float)(o->hyper[L2] +
			      o->hyper[BETA] / (2 * (double)rate)),
		.shrinkage = (float)o->hyper[SHRINKAGE]
	};

	if (o->hyper[POWER] == -.5)
		by_root(u->w, u->slot[0], u->slot[1], s, c);
	else
		by_power(u->w, u->slot[0], u->slot[1], s, c);
}

const struct optimizer_kind optimizer_ftrl = {
	.name = "ftrl", .learning_rate = .001f,
	.hyper = {
		[POWER] = { "learning_rate_power", NULL, HYPER_NEGATIVE, -.5 },
		[START] = { "initial_accumulator_value", NULL,
			    HYPER_POSITIVE, .1 },
		[L1] = { "l1_regularization_strength", "l1",
			 HYPER_POSITIVE, 0 },
		[L2] = { "l2_regularization_strength", "l2",
			 HYPER_POSITIVE, 0 },
		[SHRINKAGE] = { "l2_shrinkage_regularization_strength",
				"l2_shrinkage", HYPER_POSITIVE, 0 },
		[BETA] = { "beta", NULL, HYPER_POSITIVE, 0 },
	},
	.prepare = prepare, .apply = apply
};
