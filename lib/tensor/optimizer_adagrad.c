#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

#include <math.h>

enum { START, EPSILON };

/*
 * Duchi, Hazan and Singer, "Adaptive subgradient methods" (2011).  As in Keras,
 * epsilon is under the root.
 */
static TARGET_CLONES void
kernel(float *restrict w, float *restrict a, struct step s, float epsilon)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);

		a[i] += g * g;
		w[i] = decayed(w[i], s) - s.rate * g / sqrtf(a[i] + epsilon);
	}
}

static void
prepare(struct optimizer *o)
{
	optimizer_add_slot(o, "accumulator", o->hyper[START]);
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	kernel(u->w, u->slot[0], step_of(o, u), (float)o->hyper[EPSILON]);
}

const struct optimizer_kind optimizer_adagrad = {
	.name = "adagrad", .learning_rate = .001f,
	.hyper = {
		[START] = { "initial_accumulator_value", NULL,
			    HYPER_POSITIVE, .1 },
		[EPSILON] = { "epsilon", NULL, HYPER_POSITIVE, 1e-7 },
	},
	.prepare = prepare, .apply = apply
};
