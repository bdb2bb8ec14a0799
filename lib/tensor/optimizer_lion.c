#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

enum { BETA_1, BETA_2 };

struct constants {
	float beta_1, rest_1, beta_2, rest_2 /* 1 - beta */;
};

/* Return -1, 0 or 1.  A NaN stays a NaN, so that it is noticed. */
static inline float
sign(float x)
{
	return x > 0 ? 1 : x < 0 ? -1 : x;
}

/* Chen and others, "Symbolic discovery of optimization algorithms" (2023). */
static TARGET_CLONES void
kernel(float *restrict w, float *restrict m, struct step s,
       struct constants c)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		w[i] = decayed(w[i], s) -
			s.rate * sign(m[i] * c.beta_1 + g * c.rest_1);
		m[i] = m[i] * c.beta_2 + g * c.rest_2;
	}
}

static void
prepare(struct optimizer *o)
{
	optimizer_add_slot(o, "momentum", 0);
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	const struct constants c = {
		.beta_1 = (float)o->hyper[BETA_1],
		.rest_1 = (float)(1 - o->hyper[BETA_1]),
		.beta_2 = (float)o->hyper[BETA_2],
		.rest_2 = (float)(1 - o->hyper[BETA_2])
	};

	kernel(u->w, u->slot[0], step_of(o, u), c);
}

const struct optimizer_kind optimizer_lion = {
	.name = "lion", .learning_rate = .001f,
	.hyper = {
		[BETA_1] = { "beta_1", NULL, HYPER_FRACTION, .9 },
		[BETA_2] = { "beta_2", NULL, HYPER_FRACTION, .99 },
	},
	.prepare = prepare, .apply = apply
};
