#include "model/external.h"

#include "base/fiber.h"

size_t
external_size(const struct external_array *a)
{
	return shape_size(a->shape) * (a->examples > 0 ? a->examples : 1);
}

size_t
external_bytes(const struct external_array *a)
{
	return external_size(a) * (a->id ? sizeof(*a->id) : sizeof(*a->at));
}

void
external_answer_begin(struct external_answer *a, uint64_t examples)
{
	text_reset(&a->result);
	a->loss = 0;
	a->has_loss = false;
	a->examples = examples;
	a->metrics = 0;
	a->shares = a->ended = false;
}

static int
fail_given_up(const struct external_call *c, struct fail *f)
{
	return fail(f, FAIL_AGAIN, "%s is no longer wanted", c->name);
}

int
externals_ask(const struct externals *e, const struct external_call *c,
	      struct fail *f)
{
	if (fiber_is_given_up())
		return fail_given_up(c, f);
	if (e->ask)
		e->ask(e->own, c);
	return 0;
}

struct awaited {
	const struct externals *externals;
	const struct external_call *call;
};

static bool
is_answered(const void *of)
{
	const struct awaited *a = of;

	return a->externals->answered(a->externals->own, a->call);
}

int
externals_take(const struct externals *e, const struct external_call *c,
	       struct fail *f)
{
	const struct awaited a = { e, c };

	if (!e->ask)
		return e->call(e->own, c, f);
	return fiber_wait(is_answered, &a) ? e->take(e->own, c, f) :
		fail_given_up(c, f);
}

int
externals_call(const struct externals *e, const struct external_call *c,
	       struct fail *f)
{
	return externals_ask(e, c, f) < 0 ? -1 : externals_take(e, c, f);
}
