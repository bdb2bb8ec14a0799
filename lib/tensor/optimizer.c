#include "tensor/optimizer.h"

#include "base/choices.h"
#include "base/text.h"
#include "tensor/optimizer_kind.h"

#include <assert.h>
#include <float.h>
#include <string.h>

static const struct optimizer_kind *const kinds[] = {
	&optimizer_adadelta,
	&optimizer_adagrad,
	&optimizer_adam,
	&optimizer_adamax,
	&optimizer_adamw,
	&optimizer_ftrl,
	&optimizer_lion,
	&optimizer_nadam,
	&optimizer_rmsprop,
	&optimizer_sgd,
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static const struct optimizer_kind *
find(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

static bool
in_range(enum hyper_range range, const char *text, double *x)
{
	bool yes;

	if (range == HYPER_BOOL) {
		if (!text_bool(text, &yes))
			return false;
		*x = yes;
		return true;
	}
	if (!text_double(text, x))
		return false;
	switch (range) {
	case HYPER_FRACTION:
		return *x >= 0 && *x < 1;
	case HYPER_POSITIVE:
		return *x >= 0 && *x <= (double)FLT_MAX;
	case HYPER_NEGATIVE:
		return *x <= 0 && *x >= -(double)FLT_MAX;
	default:
		return false;
	}
}

static const char *const wanted[] = {
	[HYPER_BOOL] = "true or false",
	[HYPER_FRACTION] = "a number of 0 or more and less than 1",
	[HYPER_POSITIVE] = "a number of 0 or more",
	[HYPER_NEGATIVE] = "a number of 0 or less",
};

/*
 * A setting is a double: computed with floats, 1 - beta_2 for .999 would have a
 * relative error of 1e-5.  Keras computes it before it rounds to float, too.
 */
static int
parse_hyper(double *x, const struct hyper *h, struct settings *s,
	    struct fail *f)
{
	const char *key = h->key, *text = settings_text(s, key);
	const char *other = h->alias ? settings_text(s, h->alias) : NULL;

	*x = h->start;
	if (text && other)
		return fail(f, FAIL_CONFIG, "%s: %s and %s are the same "
			    "setting, say one", s->where, key, h->alias);
	if (other) {
		key = h->alias;
		text = other;
	}
	if (text && !in_range(h->range, text, x))
		return fail(f, FAIL_CONFIG, "%s: %s=%s is not %s", s->where,
			    key, text, wanted[h->range]);
	return 0;
}

static int
parse_clip(struct optimizer *o, struct settings *s, struct fail *f)
{
	if (settings_float(s, "clipvalue", &o->clipvalue, 0, FLT_MAX, f) < 0 ||
	    settings_float(s, "clipnorm", &o->clipnorm, 0, FLT_MAX, f) < 0 ||
	    settings_float(s, "global_clipnorm", &o->global_clipnorm, 0,
			   FLT_MAX, f) < 0)
		return -1;
	if ((o->clipvalue > 0) + (o->clipnorm > 0) +
	    (o->global_clipnorm > 0) > 1)
		return fail(f, FAIL_CONFIG, "%s: say at most one of clipvalue, "
			    "clipnorm and global_clipnorm", s->where);
	return 0;
}

static int
unknown(const char *name, const struct settings *s, struct fail *f)
{
	struct choices names = { .word = name };

	for (size_t i = 0; i < KINDS; i++)
		choices_add(&names, kinds[i]->name);
	return choices_refuse(&names, FAIL_CONFIG, s->where, "optimizer", f);
}

int
optimizer_parse(struct optimizer *optimizer, const char *name,
		struct settings *s, struct fail *f)
{
	struct optimizer o = { .kind = find(name) };

	if (!o.kind)
		return unknown(name, s, f);
	o.weight_decay = o.kind->weight_decay;
	if (schedule_parse(&o.schedule, s, o.kind->learning_rate, f) < 0 ||
	    settings_float(s, "weight_decay", &o.weight_decay, 0, FLT_MAX,
			   f) < 0 ||
	    parse_clip(&o, s, f) < 0)
		return -1;
	for (size_t i = 0; i < OPTIMIZER_HYPER; i++)
		if (o.kind->hyper[i].key &&
		    parse_hyper(&o.hyper[i], &o.kind->hyper[i], s, f) < 0)
			return -1;
	o.kind->prepare(&o);
	o.frozen = schedule_still(&o.schedule);
	*optimizer = o;
	return 0;
}

bool
optimizer_can_resume(const struct optimizer *o, const struct optimizer *was)
{
	return o->kind == was->kind || o->kind->apply == was->kind->apply;
}

const char *
optimizer_name(const struct optimizer *o)
{
	return o->kind->name;
}

void
optimizer_apply(const struct optimizer *o, const struct update *u)
{
	assert(u->t > 0);
	/*
	 * Slots of a time before the freezing hold a momentum, which would
	 * still move the values, though the rate is 0.
	 */
	if (!o->frozen)
		o->kind->apply(o, u);
}

bool
optimizer_thresholds(const struct optimizer *o)
{
	return o->kind == &optimizer_ftrl;
}
