#include "tensor/optimizer_kind.h"
#include "tensor/target_clones.h"

/*
 * A moving average of the values that take the place of gradients.  Neither a
 * learning rate nor a setting of the model has an effect on it.
 */
static TARGET_CLONES void
average(float *restrict w, struct step s, float momentum)
{
	for (size_t i = 0; i < s.n; i++)
		w[i] = momentum * w[i] + (1 - momentum) * mean_at(s, i);
}

static void
prepare(struct optimizer *o)
{
	(void)o;
}

static void
apply(const struct optimizer *o, const struct update *u)
{
	average(u->w, step_of(o, u), (float)o->hyper[0]);
}

static const struct optimizer_kind kind = {
	.name = "average", .prepare = prepare, .apply = apply
};

void
optimizer_average(struct optimizer *o, float momentum)
{
	struct settings none = { 0 };
	struct fail ignored;

	*o = (struct optimizer){ .kind = &kind, .hyper = { momentum } };
	schedule_parse(&o->schedule, &none, 0, &ignored);
}
