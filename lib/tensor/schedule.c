#include "tensor/schedule.h"

#include "base/choices.h"
#include "base/mem.h"
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct schedule_kind {
	const char *name;
	int (*parse)(struct schedule *, struct settings *, struct fail *);
	double (*at)(const struct schedule *, double s);
};

static int
require_key(struct settings *s, const struct schedule *schedule,
	    const char *key, struct fail *f)
{
	if (settings_text(s, key))
		return 0;
	return fail(f, FAIL_CONFIG, "%s: schedule=%s needs %s=", s->where,
		    schedule->kind->name, key);
}

static int
parse_steps(struct schedule *p, struct settings *s, struct fail *f)
{
	if (require_key(s, p, "decay_steps", f) < 0)
		return -1;
	return settings_uint(s, "decay_steps", &p->decay_steps, 1, UINT64_MAX,
			     f);
}

/* Return how much of the decay is over: 1 at its end, and more behind it. */
static double
decay_fraction(const struct schedule *p, double s)
{
	return s / (double)p->decay_steps;
}

static double
capped_fraction(const struct schedule *p, double s)
{
	return fmin(decay_fraction(p, s), 1);
}

static int
parse_constant(struct schedule *p, struct settings *s, struct fail *f)
{
	(void)p;
	(void)s;
	(void)f;
	return 0;
}

static double
constant(const struct schedule *p, double s)
{
	(void)s;
	return (double)p->learning_rate;
}

static int
parse_rate(struct schedule *p, struct settings *s, struct fail *f)
{
	if (parse_steps(p, s, f) < 0 ||
	    require_key(s, p, "decay_rate", f) < 0 ||
	    settings_float(s, "decay_rate", &p->decay_rate, 0, FLT_MAX, f) < 0)
		return -1;
	return settings_bool(s, "staircase", &p->staircase, f);
}

static double
staircase_fraction(const struct schedule *p, double s)
{
	return p->staircase ? floor(decay_fraction(p, s)) :
		decay_fraction(p, s);
}

static double
exponential(const struct schedule *p, double s)
{
	return (double)p->learning_rate *
	       pow((double)p->decay_rate, staircase_fraction(p, s));
}

static double
inverse_time(const struct schedule *p, double s)
{
	return (double)p->learning_rate /
	       (1 + (double)p->decay_rate * staircase_fraction(p, s));
}

static int
parse_polynomial(struct schedule *p, struct settings *s, struct fail *f)
{
	p->end_learning_rate = 1e-4f;
	p->power = 1;
	if (parse_steps(p, s, f) < 0 ||
	    settings_float(s, "end_learning_rate", &p->end_learning_rate, 0,
			   FLT_MAX, f) < 0)
		return -1;
	return settings_float(s, "power", &p->power, 0, FLT_MAX, f);
}

static double
polynomial(const struct schedule *p, double s)
{
	const double end = (double)p->end_learning_rate;

	return ((double)p->learning_rate - end) *
	       pow(1 - capped_fraction(p, s), (double)p->power) + end;
}

static int
parse_cosine(struct schedule *p, struct settings *s, struct fail *f)
{
	if (parse_steps(p, s, f) < 0 ||
	    settings_float(s, "alpha", &p->alpha, 0, 1, f) < 0 ||
	    settings_uint(s, "warmup_steps", &p->warmup_steps, 1, UINT64_MAX,
			  f) < 0 ||
	    settings_float(s, "warmup_target", &p->warmup_target, 0, FLT_MAX,
			   f) < 0)
		return -1;
	/*
	 * Keras silently ignores warmup_steps without warmup_target; here
	 * either one without the other is an error.
	 */
	if (settings_text(s, "warmup_steps"))
		return require_key(s, p, "warmup_target", f);
	if (settings_text(s, "warmup_target"))
		return require_key(s, p, "warmup_steps", f);
	return 0;
}

/* Loshchilov and Hutter, "SGDR" (2017), without restarts. */
static double
cosine(const struct schedule *p, double s)
{
	const double pi = 3.14159265358979323846;
	const double warm = (double)p->warmup_steps;
	const double alpha = (double)p->alpha;
	double top = (double)p->learning_rate;

	if (warm > 0) {
		const double target = (double)p->warmup_target;

		if (s < warm)
			return top + (target - top) * (s / warm);
		top = target;
		s -= warm;
	}
	return top * ((1 - alpha) * .5 *
		      (1 + cos(pi * capped_fraction(p, s))) +
		      alpha);
}

/*
 * Return the words of the list that s has at key; the caller frees *copy and
 * the words.
 */
static char **
list_words(struct settings *s, const char *key, char **copy, size_t *n)
{
	*copy = mem_text(settings_text(s, key));
	return text_split(*copy, ',', n);
}

static bool
boundaries_fit(struct schedule *p, char **word, size_t n)
{
	if (n < 1 || n > SCHEDULE_PIECES)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!text_uint(word[i], &p->boundary[i]) ||
		    (i > 0 && p->boundary[i] <= p->boundary[i - 1]))
			return false;
	p->pieces = n;
	return true;
}

static bool
values_fit(struct schedule *p, char **word, size_t n)
{
	if (n != p->pieces + 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!text_float(word[i], &p->value[i]) || p->value[i] < 0)
			return false;
	return true;
}

static int
parse_list(struct schedule *p, struct settings *s, const char *key,
	   bool (*fits)(struct schedule *, char **, size_t),
	   const char *what, struct fail *f)
{
	char *copy, **word;
	size_t n;
	bool good;

	if (require_key(s, p, key, f) < 0)
		return -1;
	word = list_words(s, key, &copy, &n);
	good = fits(p, word, n);
	free(word);
	free(copy);
	if (good)
		return 0;
	return fail(f, FAIL_CONFIG, "%s: %s=%s is not %s", s->where, key,
		    settings_text(s, key), what);
}

static int
parse_piecewise(struct schedule *p, struct settings *s, struct fail *f)
{
	if (settings_text(s, "learning_rate") ||
	    settings_text(s, "initial_learning_rate"))
		return fail(f, FAIL_CONFIG, "%s: schedule=piecewise_constant "
			    "has its rates from values=, so take the learning "
			    "rate out", s->where);
	if (parse_list(p, s, "boundaries", boundaries_fit,
		       "a list of up to 16 rising numbers of updates",
		       f) < 0 ||
	    parse_list(p, s, "values", values_fit,
		       "a list of rates, one more than boundaries", f) < 0)
		return -1;
	p->learning_rate = p->value[0];
	return 0;
}

static double
piecewise(const struct schedule *p, double s)
{
	size_t i = 0;

	while (i < p->pieces && s > (double)p->boundary[i])
		i++;
	return (double)p->value[i];
}

static const struct schedule_kind kinds[] = {
	{ "constant", parse_constant, constant },
	{ "cosine_decay", parse_cosine, cosine },
	{ "exponential_decay", parse_rate, exponential },
	{ "inverse_time_decay", parse_rate, inverse_time },
	{ "piecewise_constant", parse_piecewise, piecewise },
	{ "polynomial_decay", parse_polynomial, polynomial },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static const struct schedule_kind *
find(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

static int
unknown(const char *name, const struct settings *s, struct fail *f)
{
	struct choices names = { .word = name };

	for (size_t i = 0; i < KINDS; i++)
		choices_add(&names, kinds[i].name);
	return choices_refuse(&names, FAIL_CONFIG, s->where, "schedule", f);
}

/*
 * Both names are Keras's: an optimizer has learning_rate, a schedule
 * initial_learning_rate.
 */
static int
parse_initial(struct schedule *p, struct settings *s, struct fail *f)
{
	const char *const keys[] = { "learning_rate", "initial_learning_rate" };

	if (settings_text(s, keys[0]) && settings_text(s, keys[1]))
		return fail(f, FAIL_CONFIG, "%s: %s and %s are the same "
			    "setting, say one", s->where, keys[0], keys[1]);
	for (int i = 0; i < 2; i++)
		if (settings_float(s, keys[i], &p->learning_rate, 0, FLT_MAX,
				   f) < 0)
			return -1;
	return 0;
}

int
schedule_parse(struct schedule *schedule, struct settings *s, float start,
	       struct fail *f)
{
	const char *name = settings_text(s, "schedule");
	struct schedule p = { .learning_rate = start };

	p.kind = find(name ? name : "constant");
	if (!p.kind)
		return unknown(name, s, f);
	if (parse_initial(&p, s, f) < 0 || p.kind->parse(&p, s, f) < 0)
		return -1;
	*schedule = p;
	return 0;
}

float
schedule_at(const struct schedule *p, uint64_t s)
{
	return p->kind ? (float)p->kind->at(p, (double)s) : p->learning_rate;
}

/*
 * Return whether the rate is ever above 0.  A decay that ends at 0 and a
 * warm-up that begins there pass through 0, but freeze nothing.
 */
static bool
is_ever_positive(const struct schedule *p)
{
	return p->pieces == 0 && (p->learning_rate > 0 ||
				  p->warmup_target > 0 ||
				  p->end_learning_rate > 0);
}

float
schedule_asked(const struct schedule *p, uint64_t s, float asked)
{
	const float rate = schedule_at(p, s);

	if (asked < 0)
		return rate * -asked;
	return asked > 0 && (rate > 0 || is_ever_positive(p)) ? asked : rate;
}

bool
schedule_still(const struct schedule *p)
{
	bool still = !is_ever_positive(p);

	for (size_t i = 0; i <= p->pieces && p->pieces > 0; i++)
		still = still && !(p->value[i] > 0);
	return still;
}

bool
schedule_constant(const struct schedule *p)
{
	return !p->kind || p->kind->at == constant;
}

static bool
equal_rates(float a, float b)
{
	return !(a < b) && !(a > b);
}

bool
schedule_same(const struct schedule *a, const struct schedule *b)
{
	bool is = a->kind == b->kind && a->decay_steps == b->decay_steps &&
		a->warmup_steps == b->warmup_steps &&
		equal_rates(a->learning_rate, b->learning_rate) &&
		equal_rates(a->decay_rate, b->decay_rate) &&
		equal_rates(a->end_learning_rate, b->end_learning_rate) &&
		equal_rates(a->power, b->power) &&
			equal_rates(a->alpha, b->alpha) &&
		equal_rates(a->warmup_target, b->warmup_target) &&
		a->staircase == b->staircase && a->pieces == b->pieces;

	for (size_t i = 0; is && i <= a->pieces && a->pieces > 0; i++)
		is = equal_rates(a->value[i], b->value[i]) &&
			(i == a->pieces || a->boundary[i] == b->boundary[i]);
	return is;
}
