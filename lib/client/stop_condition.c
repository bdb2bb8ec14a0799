#include "client/stop_condition.h"

#include "base/choices.h"
#include "base/text.h"

#include <string.h>

/* The longer signs come first: ">=" begins with ">". */
static const struct {
	const char *sign;
	enum relation is;
} signs[] = {
	{ "==", CONDITION_EQ }, { ">=", CONDITION_GE }, { "<=", CONDITION_LE },
	{ ">", CONDITION_GT }, { "<", CONDITION_LT }
};

bool
stop_condition_read(struct stop_condition *u, const char *text)
{
	const size_t name = strcspn(text, " <=>");
	const char *at = text + name + strspn(text + name, " ");

	if (name == 0 || name >= sizeof(u->metric))
		return false;
	memcpy(u->metric, text, name);
	u->metric[name] = '\0';
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		const size_t n = strlen(signs[i].sign);

		if (strncmp(at, signs[i].sign, n) != 0)
			continue;
		u->is = signs[i].is;
		at += n;
		return text_double(at + strspn(at, " "), &u->value);
	}
	return false;
}

bool
stop_condition_meets(const struct stop_condition *u, double x)
{
	switch (u->is) {
	case CONDITION_EQ:	return x <= u->value && x >= u->value;
	case CONDITION_GE:	return x >= u->value;
	case CONDITION_LE:	return x <= u->value;
	case CONDITION_GT:	return x > u->value;
	default:	return x < u->value;
	}
}

int
stop_condition_holds(const struct stop_condition *u, const struct evaluation *e,
		     struct fail *f)
{
	if (*u->metric == '\0')
		return 0;
	if (strcmp(u->metric, "loss") == 0)
		return stop_condition_meets(u, e->loss / (double)e->examples);
	for (size_t i = 0; i < e->metrics; i++)
		if (strcmp(metric_name(&e->metric[i]), u->metric) == 0)
			return stop_condition_meets(
				u, metric_value(&e->metric[i], &e->state[i]));
	return stop_condition_unknown(u, e, f);
}

int
stop_condition_unknown(const struct stop_condition *u,
		       const struct evaluation *e, struct fail *f)
{
	struct choices near = { .word = u->metric };
	struct text known = { 0 };

	if (e) {
		choices_add(&near, "loss");
		text_add(&known, "; there are loss");
	}
	for (size_t i = 0; e && i < e->metrics; i++) {
		choices_add(&near, metric_name(&e->metric[i]));
		text_add(&known, ", %s", metric_name(&e->metric[i]));
	}
	choices_fail(&near, FAIL_USAGE, f, "--until: the model has no metric "
		     "'%s'%s", u->metric, known.data ? known.data : "");
	text_release(&known);
	return -1;
}
