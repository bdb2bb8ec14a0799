#include "tensor/clones.h"
#include "tensor/optimizer_kind.h"

enum { MOMENTUM, NESTEROV };

static CLONES void
plain(float *restrict w, const float *restrict g, size_t n, float rate)
{
	for (size_t i = 0; i < n; i++)
		w[i] -= rate * g[i];
}

static CLONES void
with_momentum(float *restrict w, float *restrict m, const float *restrict g,
	      size_t n, float rate, float momentum)
{
	for (size_t i = 0; i < n; i++) {
		m[i] = momentum * m[i] - rate * g[i];
		w[i] += m[i];
	}
}

/* As if the gradient had been taken one step of momentum ahead. */
static CLONES void
with_nesterov(float *restrict w, float *restrict m, const float *restrict g,
	      size_t n, float rate, float momentum)
{
	for (size_t i = 0; i < n; i++) {
		const float step = rate * g[i];

		m[i] = momentum * m[i] - step;
		w[i] += momentum * m[i] - step;
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
	const float momentum = (float)o->hyper[MOMENTUM];

	if (o->slots == 0)
		plain(u->w, u->g, u->n, u->learning_rate);
	else if (o->hyper[NESTEROV] > 0)
		with_nesterov(u->w, u->slot[0], u->g, u->n, u->learning_rate,
			      momentum);
	else
		with_momentum(u->w, u->slot[0], u->g, u->n, u->learning_rate,
			      momentum);
}

const struct optimizer_kind optimizer_sgd = {
	.name = "sgd", .learning_rate = .01f,
	.hyper = {
		[MOMENTUM] = { "momentum", NULL, HYPER_FRACTION, 0 },
		[NESTEROV] = { "nesterov", NULL, HYPER_BOOL, 0 },
	},
	.prepare = prepare, .apply = apply
};
