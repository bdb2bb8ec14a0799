#include "client/until.h"

#include "base/choices.h"
#include "base/text.h"

#include <string.h>

/* The longer ones first: ">=" begins as ">" does. */
static const struct {
	const char *sign;
	enum relation is;
} signs[] = {
	{ "==", UNTIL_EQ }, { ">=", UNTIL_GE }, { "<=", UNTIL_LE },
	{ ">", UNTIL_GT }, { "<", UNTIL_LT }
};

bool
until_read(struct until *u, const char *text)
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
until_meets(const struct until *u, double x)
{
	switch (u->is) {
	case UNTIL_EQ:	return x <= u->value && x >= u->value;
	case UNTIL_GE:	return x >= u->value;
	case UNTIL_LE:	return x <= u->value;
	case UNTIL_GT:	return x > u->value;
	default:	return x < u->value;
	}
}

int
until_holds(const struct until *u, const struct evaluation *e,
	    struct fail *f)
{
	if (*u->metric == '\0')
		return 0;
	if (strcmp(u->metric, "loss") == 0)
		return until_meets(u, e->loss / (double)e->examples);
	for (size_t i = 0; i < e->metrics; i++)
		if (strcmp(metric_name(&e->metric[i]), u->metric) == 0)
			return until_meets(u, metric_value(&e->metric[i],
							   &e->state[i]));
	return until_unknown(u, e, f);
}

int
until_unknown(const struct until *u, const struct evaluation *e,
	      struct fail *f)
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
	fail(f, FAIL_USAGE, "--until: the model has no metric '%s'%s%s",
	     u->metric, known.data ? known.data : "", choices_question(&near));
	choices_release(&near);
	text_release(&known);
	return -1;
}
