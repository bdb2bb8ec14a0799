/* Learning rates by Keras's formulas, at the edges and between. */
#include "tensor/schedule.h"

#include "tap.h"

#include <math.h>
#include <string.h>

static int
parse(struct schedule *p, const char *line, struct fail *f)
{
	char copy[256], *word, *rest = copy;
	struct settings s = { .where = "m:1" };
	int rc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	while (rc == 0 && (word = strtok_r(rest, " ", &rest)))
		rc = settings_add(&s, word, f);
	if (rc == 0)
		rc = schedule_parse(p, &s, .25f, f);
	if (rc == 0)
		rc = settings_done(&s, f);
	settings_release(&s);
	return rc;
}

static float
at(const char *line, uint64_t s)
{
	struct schedule p = { 0 };
	struct fail f;

	if (parse(&p, line, &f) < 0)
		printf("Bail out! %s: %s\n", line, f.text);
	return schedule_at(&p, s);
}

static bool
near(float a, double b)
{
	return fabs((double)a - b) <= 1e-6 * fabs(b) + 1e-9;
}

static bool
refused(const char *line, const char *why)
{
	struct schedule p = { 0 };
	struct fail f = { .text = "" };

	return parse(&p, line, &f) == -1 && f.kind == FAIL_CONFIG &&
	       strncmp(f.text, "m:1: ", 5) == 0 && strstr(f.text, why) &&
	       !p.kind;
}

static void
constant(void)
{
	const struct schedule none = { .learning_rate = 3 };

	ok(at("", 0) == .25f && at("", 1000000) == .25f);
	ok(at("learning_rate=.5 schedule=constant", 7) == .5f);
	equals(schedule_at(&none, 7), 3);
}

static void
exponential(void)
{
	const char *smooth = "learning_rate=.1 schedule=exponential_decay "
			     "decay_steps=10 decay_rate=.9";
	const char *stairs = "initial_learning_rate=.1 staircase=true "
			     "schedule=exponential_decay decay_steps=10 "
			     "decay_rate=.9";

	ok(at(smooth, 0) == .1f);
	ok(near(at(smooth, 5), .1 * sqrt(.9)));
	ok(near(at(smooth, 10), .09) && near(at(smooth, 25),
					     .1 * pow(.9, 2.5)));
	ok(at(stairs, 9) == .1f && near(at(stairs, 10), .09) &&
	   near(at(stairs, 29), .081));
}

static void
inverse_time(void)
{
	const char *smooth = "learning_rate=.1 schedule=inverse_time_decay "
			     "decay_steps=4 decay_rate=.5";
	const char *stairs = "learning_rate=.1 schedule=inverse_time_decay "
			     "decay_steps=4 decay_rate=.5 staircase=1";

	ok(at(smooth, 0) == .1f && near(at(smooth, 2), .1 / 1.25) &&
	   near(at(smooth, 8), .05));
	ok(at(stairs, 3) == .1f && near(at(stairs, 7), .1 / 1.5));
}

static void
polynomial(void)
{
	const char *line = "learning_rate=.1 schedule=polynomial_decay "
			   "decay_steps=10";
	const char *root = "learning_rate=.1 schedule=polynomial_decay "
			   "decay_steps=10 end_learning_rate=.02 power=.5";

	ok(at(line, 0) == .1f);
	ok(near(at(line, 5), (.1 - 1e-4) / 2 + 1e-4));
	ok(at(line, 10) == 1e-4f && at(line, 999) == 1e-4f);
	ok(near(at(root, 3), .08 * sqrt(.7) + .02) && near(at(root, 11), .02));
}

static void
piecewise(void)
{
	const char *line = "schedule=piecewise_constant boundaries=2,5 "
			   "values=.1,.05,.01";
	struct schedule p = { 0 };
	struct fail f;

	ok(at(line, 0) == .1f && at(line, 2) == .1f && at(line, 3) == .05f);
	ok(at(line, 5) == .05f && at(line, 6) == .01f && at(line, 99) == .01f);
	ok(parse(&p, line, &f) == 0 && p.learning_rate == .1f &&
	   p.pieces == 2);
}

static void
cosine(void)
{
	const double pi = acos(-1);
	const char *line = "learning_rate=.1 schedule=cosine_decay "
			   "decay_steps=10 alpha=.2";
	const char *warm = "learning_rate=.1 schedule=cosine_decay "
			   "decay_steps=10 alpha=.2 warmup_steps=4 "
			   "warmup_target=.5";

	ok(at(line, 0) == .1f && near(at(line, 5), .1 * .6) &&
	   near(at(line, 10), .02) && near(at(line, 50), .02));
	ok(near(at(line, 3), .1 * (.8 * (1 + cos(.3 * pi)) / 2 + .2)));
	ok(at(warm, 0) == .1f && near(at(warm, 1), .2) &&
	   near(at(warm, 3), .4) && near(at(warm, 4), .5));
	ok(near(at(warm, 9), .5 * .6) && near(at(warm, 14), .1) &&
	   near(at(warm, 15), .1));
}

/* Returns the rate after s updates, with a rate in the request. */
static float
asked(const char *line, uint64_t s, float rate)
{
	struct schedule p = { 0 };
	struct fail f;

	if (parse(&p, line, &f) < 0)
		printf("Bail out! %s: %s\n", line, f.text);
	return schedule_asked(&p, s, rate);
}

static bool
is_still(const char *line)
{
	struct schedule p = { 0 };
	struct fail f;

	if (parse(&p, line, &f) < 0)
		printf("Bail out! %s: %s\n", line, f.text);
	return schedule_still(&p);
}

#define COSINE	"schedule=cosine_decay decay_steps=10"
#define PIECES	"schedule=piecewise_constant boundaries=2 values="

static void
requests(void)
{
	ok(asked("", 3, 0) == .25f && asked("", 3, 2) == 2 &&
	   asked("", 3, -2) == .5f);
	ok(asked("learning_rate=0", 3, 2) == 0 &&
	   asked("learning_rate=0", 3, -2) == 0);
	ok(asked("learning_rate=0 schedule=exponential_decay decay_steps=1 "
		 "decay_rate=.5", 0, 2) == 0);
	ok(asked(PIECES "0,.5", 2, 2) == 0 && asked(PIECES "0,.5", 3, 2) == 2 &&
	   asked(PIECES "0,.5", 3, -.5f) == .25f);
	/* A rate that has decayed to its end may be set again. */
	ok(asked(COSINE, 10, 0) == 0 && asked(COSINE, 10, 2) == 2 &&
	   asked(COSINE, 10, -2) == 0);
	ok(asked(COSINE " learning_rate=0 warmup_steps=2 warmup_target=1", 0,
		 2) == 2);
	ok(is_still("learning_rate=0") && is_still(PIECES "0,0") &&
	   is_still(COSINE " learning_rate=0"));
	ok(!is_still("") && !is_still(PIECES "0,1") &&
	   !is_still(PIECES "1,0") &&
	   !is_still("learning_rate=0 schedule=polynomial_decay "
		     "decay_steps=2") && !is_still(COSINE));
}

static void
refusals(void)
{
	struct schedule p;
	struct fail f;

	ok(refused("schedule=step", "cosine_decay exponential_decay"));
	ok(refused("schedule=cosine_decay", "needs decay_steps="));
	ok(refused("schedule=cosine_decay decay_steps=0", "decay_steps=0"));
	ok(refused("schedule=exponential_decay decay_steps=1",
		   "needs decay_rate="));
	ok(refused("schedule=cosine_decay decay_steps=1 warmup_steps=2",
		   "needs warmup_target="));
	ok(refused("schedule=cosine_decay decay_steps=1 warmup_target=2",
		   "needs warmup_steps="));
	ok(refused("learning_rate=-1", "learning_rate=-1"));
	ok(refused("learning_rate=1 initial_learning_rate=1", "say one"));
	ok(parse(&p, "decay_steps=3", &f) == -1 &&
	   strstr(f.text, "unknown setting decay_steps"));
	ok(refused("schedule=piecewise_constant values=1",
		   "needs boundaries="));
	ok(refused("schedule=piecewise_constant boundaries=1",
		   "needs values="));
	ok(refused("schedule=piecewise_constant boundaries=2,2 values=1,2,3",
		   "boundaries=2,2 is not"));
	ok(refused("schedule=piecewise_constant boundaries=1,2 values=1,2",
		   "values=1,2 is not"));
	ok(refused("schedule=piecewise_constant boundaries= values=1",
		   "boundaries= is not"));
	ok(refused("schedule=piecewise_constant values=1,2 boundaries=1,2,3,4,"
		   "5,6,7,8,9,10,11,12,13,14,15,16,17", "up to 16"));
	ok(refused("schedule=piecewise_constant boundaries=1 values=1,2 "
		   "learning_rate=1", "values="));
}

int
main(void)
{
	constant();
	exponential();
	inverse_time();
	polynomial();
	piecewise();
	cosine();
	requests();
	refusals();
	return tap_done();
}
