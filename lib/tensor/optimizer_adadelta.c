#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

#include <math.h>

enum { RHO, EPSILON };

/*
 * Zeiler, "Adadelta" (2012).  Its steps have the unit of the weights; Keras
 * multiplies them by a learning rate all the same.  The paper divides one root
 * by another; the root of the quotient is one operation fewer.
 */
static TARGET_CLONES void
kernel(float *restrict w, float *restrict a, float *restrict d,
       struct step s, float rho, float rest, float epsilon)
{
	for (size_t i = 0; i < s.n; i++) {
		const float g = mean_at(s, i);
		float step;

		a[i] = rho * a[i] + rest * (g * g);
		step = sqrtf((d[i] + epsilon) / (a[i] + epsilon)) * g;
		d[i] = rho * d[i] + rest * (step * step);
		w[i] = decayed(w[i], s) - s.rate * step;
	}
}

static void
prepare(struct optimizer *o)
{
	optimizer_add_slot(o, "accumulated_grad", 0);
	optimizer_add_slot(o, "accumulated_delta_var", 0);
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	kernel(u->w, u->slot[0], u->slot[1], step_of(o, u),
	       (float)o->hyper[RHO], (float)(1 - o->hyper[RHO]),
	       (float)o->hyper[EPSILON]);
}

const struct optimizer_kind optimizer_adadelta = {
	.name = "adadelta", .learning_rate = .001f,
	.hyper = {
		[RHO] = { "rho", NULL, HYPER_FRACTION, .95 },
		[EPSILON] = { "epsilon", NULL, HYPER_POSITIVE, 1e-7 },
	},
	.prepare = prepare, .apply = apply
};
