#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

enum { MOMENTUM, NESTEROV };

static TARGET_CLONES void
plain(float *restrict w, struct step s)
{
	for (size_t i = 0; i < s.n; i++)
		w[i] = decayed(w[i], s) - s.rate * mean_at(s, i);
}

static TARGET_CLONES void
with_momentum(float *restrict w, float *restrict m, struct step s,
	      float momentum)
{
	for (size_t i = 0; i < s.n; i++) {
		m[i] = momentum * m[i] - s.rate * mean_at(s, i);
		w[i] = decayed(w[i], s) + m[i];
	}
}

/* The gradient counts as if it had been taken one step of momentum ahead. */
static TARGET_CLONES void
with_nesterov(float *restrict w, float *restrict m, struct step s,
	      float momentum)
{
	for (size_t i = 0; i < s.n; i++) {
		const float step = s.rate * mean_at(s, i);

		m[i] = momentum * m[i] - step;
		w[i] = decayed(w[i], s) + (momentum * m[i] - step);
	}
}

static void
prepare(struct optimizer *o)
{
	if (o->hyper[MOMENTUM] > 0)
		optimizer_add_slot(o, "momentum", 0);
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	const struct step s = step_of(o, u);
	const float momentum = (float)o->hyper[MOMENTUM];

	if (o->slots == 0)
		plain(u->w, s);
	else if (o->hyper[NESTEROV] > 0)
		with_nesterov(u->w, u->slot[0], s, momentum);
	else
		with_momentum(u->w, u->slot[0], s, momentum);
}

const struct optimizer_kind optimizer_sgd = {
	.name = "sgd", .learning_rate = .01f,
	.hyper = {
		[MOMENTUM] = { "momentum", NULL, HYPER_FRACTION, 0 },
		[NESTEROV] = { "nesterov", NULL, HYPER_BOOL, 0 },
	},
	.prepare = prepare, .apply = apply
};
