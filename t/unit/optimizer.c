/*
 * Every optimizer, with each of its options, against the published formula in
 * double precision, one element at a time.
 */
#include "tensor/optimizer.h"

#include "base/hash.h"
#include "base/rng.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N	67	/* no multiple of any vector */
#define STEPS	25

static int
parse(struct optimizer *o, const char *line, struct settings *s,
      struct fail *f)
{
	char copy[256], *word, *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", line);
	*s = (struct settings){ .where = "m:1" };
	name = strtok_r(rest, " ", &rest);
	while ((word = strtok_r(NULL, " ", &rest)))
		if (settings_add(s, word, f) < 0)
			return -1;
	return optimizer_parse(o, name, s, f);
}

static struct optimizer
optimizer(const char *line)
{
	struct optimizer o = { 0 };
	struct settings s;
	struct fail f;

	if (parse(&o, line, &s, &f) < 0 || settings_done(&s, &f) < 0)
		printf("Bail out! %s: %s\n", line, f.text);
	settings_release(&s);
	return o;
}

static bool
refused(const char *line, const char *why)
{
	struct optimizer o;
	struct settings s;
	struct fail f = { .text = "" };
	const int rc = parse(&o, line, &s, &f);

	settings_release(&s);
	return rc == -1 && f.kind == FAIL_CONFIG &&
	       strncmp(f.text, "m:1: ", 5) == 0 && strstr(f.text, why);
}

/* One element and its slots, by the published formulas. */
struct element {
	double w, m, v, b, h, n, z;
};

/* The settings of a line; missing ones are 0, as in the formulas. */
struct say {
	double rate, momentum, rho, epsilon, beta_1, beta_2;
	double power, l1, l2, shrinkage, beta, decay, start;
	bool nesterov, centered, amsgrad;
};

static void
sgd(struct element *e, double g, int t, const struct say *o)
{
	(void)t;
	/* v(t) = mu v(t-1) - rate g;  w(t) = w(t-1) + v(t) */
	e->m = o->momentum * e->m - o->rate * g;
	e->w += o->nesterov ? o->momentum * e->m - o->rate * g : e->m;
}

static void
adagrad(struct element *e, double g, int t, const struct say *o)
{
	if (t == 1)
		e->n = o->start;
	e->n += pow(g, 2);
	e->w -= o->rate * g / sqrt(e->n + o->epsilon);
}

static void
rmsprop(struct element *e, double g, int t, const struct say *o)
{
	double variance;

	(void)t;
	e->v = o->rho * e->v + (1 - o->rho) * pow(g, 2);
	e->b = o->rho * e->b + (1 - o->rho) * g;
	variance = o->centered ? e->v - pow(e->b, 2) : e->v;
	e->m = o->momentum * e->m + o->rate * g / sqrt(variance + o->epsilon);
	e->w -= e->m;
}

/*
 * The paper's m-hat and v-hat.  Keras's epsilon is added to the uncorrected
 * root, so epsilon-hat is computed from it.
 */
static void
adam(struct element *e, double g, int t, const struct say *o)
{
	const double correct_1 = 1 - pow(o->beta_1, t);
	const double correct_2 = 1 - pow(o->beta_2, t);
	double v;

	e->m = o->beta_1 * e->m + (1 - o->beta_1) * g;
	e->v = o->beta_2 * e->v + (1 - o->beta_2) * pow(g, 2);
	e->h = fmax(e->h, e->v);
	v = o->amsgrad ? e->h : e->v;
	e->w -= o->rate * (e->m / correct_1) /
		(sqrt(v / correct_2) + o->epsilon / sqrt(correct_2));
}

/* The paper's algorithm 1 for one coordinate, with a power and a shrinkage. */
static void
ftrl(struct element *e, double g, int t, const struct say *o)
{
	double before, sigma, sign, q;

	if (t == 1)
		e->n = o->start;
	before = e->n;
	e->n += g * g;
	sigma = (pow(e->n, -o->power) - pow(before, -o->power)) / o->rate;
	e->z += g + 2 * o->shrinkage * e->w - sigma * e->w;
	q = (o->beta + pow(e->n, -o->power)) / o->rate + 2 * o->l2;
	sign = e->z < 0 ? -1 : 1;
	e->w = fabs(e->z) <= o->l1 ? 0 : -(e->z - sign * o->l1) / q;
}

static void
adamax(struct element *e, double g, int t, const struct say *o)
{
	e->m = o->beta_1 * e->m + (1 - o->beta_1) * g;
	e->h = fmax(o->beta_2 * e->h, fabs(g));
	e->w -= o->rate / (1 - pow(o->beta_1, t)) * e->m /
		(e->h + o->epsilon);
}

/* Keras's formula, with the product of the momentum schedule computed step by
   step. */
static void
nadam(struct element *e, double g, int t, const struct say *o)
{
	double product = 1, now = 0, next;

	for (int i = 1; i <= t; i++) {
		now = o->beta_1 * (1 - .5 * pow(.96, i));
		product *= now;
	}
	next = o->beta_1 * (1 - .5 * pow(.96, t + 1));
	e->m = o->beta_1 * e->m + (1 - o->beta_1) * g;
	e->v = o->beta_2 * e->v + (1 - o->beta_2) * pow(g, 2);
	e->w -= o->rate * (next * e->m / (1 - product * next) +
			   (1 - now) * g / (1 - product)) /
		(sqrt(e->v / (1 - pow(o->beta_2, t))) + o->epsilon);
}

static void
adadelta(struct element *e, double g, int t, const struct say *o)
{
	double step;

	(void)t;
	e->v = o->rho * e->v + (1 - o->rho) * pow(g, 2);
	step = -sqrt(e->h + o->epsilon) / sqrt(e->v + o->epsilon) * g;
	e->h = o->rho * e->h + (1 - o->rho) * pow(step, 2);
	e->w += o->rate * step;
}

static void
lion(struct element *e, double g, int t, const struct say *o)
{
	const double c = o->beta_1 * e->m + (1 - o->beta_1) * g;

	(void)t;
	e->w -= o->rate * ((c > 0) - (c < 0));
	e->m = o->beta_2 * e->m + (1 - o->beta_2) * g;
}

struct run {
	struct optimizer o;
	float *memory, *w, *g, *slot[OPTIMIZER_SLOTS];
};

/* Starts a run with arrays that are only aligned as floats. */
static struct run
start(const char *line)
{
	struct run r = { .o = optimizer(line) };
	const size_t arrays = 2 + OPTIMIZER_SLOTS;

	r.memory = calloc(arrays * (N + 4), sizeof(float));
	r.w = r.memory + 1;
	r.g = r.memory + N + 4 + 2;
	for (size_t k = 0; k < OPTIMIZER_SLOTS; k++) {
		r.slot[k] = r.memory + (k + 2) * (N + 4) + 3;
		for (size_t i = 0; i < N; i++)
			r.slot[k][i] = r.o.slot_start[k];
	}
	return r;
}

static float
random_float(int stream, int i)
{
	return (float)(rng_unit(rng_at(3, (uint64_t)stream, (uint64_t)i)) - .5);
}

static void
apply(struct run *r, size_t from, size_t n, int t, float rate)
{
	struct update u = { .w = r->w + from, .n = n,
			    .sum = r->g + from, .examples = 1,
			    .learning_rate = rate, .t = (uint64_t)t };

	for (size_t k = 0; k < r->o.slots; k++)
		u.slot[k] = r->slot[k] + from;
	optimizer_apply(&r->o, &u);
}

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-5 * fabs(b) + 2e-6;
}

/*
 * Compares the optimizer of a line with its formula, for gradients of many
 * sizes, some 0, and a rate that changes as with a schedule, unless the line
 * has none.
 */
static bool
follows(const char *line, void (*step)(struct element *, double, int,
				       const struct say *), struct say say)
{
	struct run r = start(line);
	struct element e[N] = { 0 };
	bool good = true;

	for (int i = 0; i < N; i++)
		e[i].w = (double)(r.w[i] = random_float(0, i));
	for (int t = 1; t <= STEPS; t++) {
		const float rate = schedule_at(&r.o.schedule, 0) *
				   (t > 10 ? .5f : 1);

		say.rate = (double)rate;
		for (int i = 0; i < N; i++) {
			r.g[i] = (i + t) % 7 == 0 ? 0 :
				 random_float(t, i) * (float)(1 + i % 5 * 3);
			e[i].w -= say.rate * say.decay * e[i].w;
			step(&e[i], (double)r.g[i], t, &say);
		}
		apply(&r, 0, N, t, rate);
	}
	for (int i = 0; i < N; i++)
		if (!near((double)r.w[i], e[i].w)) {
			printf("# %s: [%d] is %.9g, not %.9g\n", line, i,
			       (double)r.w[i], e[i].w);
			good = false;
			break;
		}
	free(r.memory);
	return good;
}

#define check(line, step, ...) \
	named_for(follows(line, step, (struct say){ __VA_ARGS__ }), \
		  "'%s' follows its formula", line)

static void
formulas(void)
{
	check("sgd", sgd, 0);
	check("sgd learning_rate=.1 momentum=.9", sgd, .momentum = .9);
	check("sgd learning_rate=.1 momentum=.7 nesterov=true", sgd,
	      .momentum = .7, .nesterov = true);
	check("sgd nesterov=true", sgd, 0);
	check("sgd learning_rate=.1 weight_decay=.05", sgd, .decay = .05);

	check("adagrad", adagrad, .start = .1, .epsilon = 1e-7);
	check("adagrad learning_rate=.2 initial_accumulator_value=0 "
	      "epsilon=.01", adagrad, .start = 0, .epsilon = .01);

	check("rmsprop", rmsprop, .rho = .9, .epsilon = 1e-7);
	check("rmsprop learning_rate=.05 rho=.8 epsilon=.001", rmsprop,
	      .rho = .8, .epsilon = .001);
	check("rmsprop learning_rate=.02 momentum=.6", rmsprop,
	      .rho = .9, .momentum = .6, .epsilon = 1e-7);
	check("rmsprop learning_rate=.02 centered=true epsilon=1e-4", rmsprop,
	      .rho = .9, .centered = true, .epsilon = 1e-4);
	check("rmsprop learning_rate=.02 centered=1 momentum=.5 epsilon=1e-4",
	      rmsprop, .rho = .9, .centered = true, .momentum = .5,
	      .epsilon = 1e-4);

	check("adam", adam, .beta_1 = .9, .beta_2 = .999, .epsilon = 1e-7);
	check("adam learning_rate=.1 beta_1=.8 beta_2=.95 epsilon=.001", adam,
	      .beta_1 = .8, .beta_2 = .95, .epsilon = .001);
	check("adam learning_rate=.1 amsgrad=true beta_2=.5", adam,
	      .beta_1 = .9, .beta_2 = .5, .epsilon = 1e-7, .amsgrad = true);
	check("adam learning_rate=.05 weight_decay=.1", adam, .beta_1 = .9,
	      .beta_2 = .999, .epsilon = 1e-7, .decay = .1);
	check("adamw learning_rate=.5", adam, .beta_1 = .9, .beta_2 = .999,
	      .epsilon = 1e-7, .decay = .004);
	check("adamw learning_rate=.5 weight_decay=.1 amsgrad=true", adam,
	      .beta_1 = .9, .beta_2 = .999, .epsilon = 1e-7, .decay = .1,
	      .amsgrad = true);

	check("adamax learning_rate=.1", adamax, .beta_1 = .9, .beta_2 = .999,
	      .epsilon = 1e-7);
	check("adamax beta_1=.5 beta_2=.7 epsilon=.01", adamax, .beta_1 = .5,
	      .beta_2 = .7, .epsilon = .01);
	check("nadam learning_rate=.1", nadam, .beta_1 = .9, .beta_2 = .999,
	      .epsilon = 1e-7);
	check("nadam beta_1=.99 beta_2=.7 epsilon=.01 weight_decay=.1", nadam,
	      .beta_1 = .99, .beta_2 = .7, .epsilon = .01, .decay = .1);
	check("adadelta learning_rate=1", adadelta, .rho = .95,
	      .epsilon = 1e-7);
	check("adadelta learning_rate=1 rho=.8 epsilon=.001", adadelta,
	      .rho = .8, .epsilon = .001);
	check("lion learning_rate=.01", lion, .beta_1 = .9, .beta_2 = .99);
	check("lion learning_rate=.01 beta_1=.6 beta_2=.8 weight_decay=.1",
	      lion, .beta_1 = .6, .beta_2 = .8, .decay = .1);

	check("ftrl", ftrl, .power = -.5, .start = .1);
	check("ftrl learning_rate=.1 l1=.5", ftrl, .power = -.5, .start = .1,
	      .l1 = .5);
	check("ftrl learning_rate=.1 l2_regularization_strength=.3", ftrl,
	      .power = -.5, .start = .1, .l2 = .3);
	check("ftrl learning_rate=.1 l1_regularization_strength=.1 l2=.2 "
	      "l2_shrinkage=.05 initial_accumulator_value=1", ftrl,
	      .power = -.5, .start = 1, .l1 = .1, .l2 = .2, .shrinkage = .05);
	check("ftrl learning_rate=.2 beta=1.5 "
	      "l2_shrinkage_regularization_strength=.1", ftrl,
	      .power = -.5, .start = .1, .beta = 1.5, .shrinkage = .1);
	check("ftrl learning_rate=.1 learning_rate_power=-.7", ftrl,
	      .power = -.7, .start = .1);
	check("ftrl learning_rate=.1 learning_rate_power=0 l2=.1", ftrl,
	      .power = 0, .start = .1, .l2 = .1);
}

/* The first step of Adam is the rate, for any size of the gradient. */
static void
by_hand(void)
{
	struct run r = start("adam learning_rate=.25 epsilon=0");

	r.w[0] = 1;
	r.g[0] = 64;
	r.w[1] = 1;
	r.g[1] = -.001f;
	apply(&r, 0, 2, 1, .25f);
	ok(near((double)r.w[0], .75) && near((double)r.w[1], 1.25));
	free(r.memory);

	r = start("ftrl learning_rate=1 l1=3 initial_accumulator_value=0");
	r.w[1] = 5;
	r.g[0] = 2;
	apply(&r, 0, 1, 1, 1);
	equals(r.w[0], 0);			/* |z| = 2 */
	r.g[0] = 2;
	apply(&r, 0, 1, 2, 1);
	ok(near((double)r.w[0], -1 / sqrt(8)));	/* |z| = 4 */
	apply(&r, 1, 1, 1, 1);
	named_equals(r.w[1], 0, "ftrl gives 0, not NaN, before it has learned");
	r.w[1] = 5;
	r.g[1] = 1;
	apply(&r, 1, 1, 2, 0);
	named_equals(r.w[1], 5, "ftrl changes nothing at a rate of 0");
	free(r.memory);

	/* Among gradients that never change some b^2 round to more than v. */
	r = start("rmsprop centered=true");
	bool finite = true;

	for (int i = 0; i < N; i++)
		r.g[i] = 1000 * random_float(0, i);
	for (int t = 1; t <= 300; t++)
		apply(&r, 0, N, t, .001f);
	for (int i = 0; i < N; i++)
		finite = finite && isfinite(r.w[i]);
	named(finite,
	      "rmsprop gives no NaN for a variance that rounds below 0");
	free(r.memory);
}

static const char *const every[] = {
	"sgd", "sgd momentum=.9", "sgd momentum=.9 nesterov=true", "adagrad",
	"rmsprop", "rmsprop momentum=.9", "rmsprop centered=true",
	"rmsprop momentum=.9 centered=true", "adam", "adam amsgrad=true",
	"adamw", "adamax", "nadam", "adadelta", "lion", "ftrl",
	"ftrl learning_rate_power=-.3", NULL
};

/* Are the bits the same for any shards? */
static bool
pieces_equal_the_whole(const char *line)
{
	struct run a = start(line), b = start(line);
	bool same = true;

	for (int i = 0; i < N; i++)
		a.w[i] = b.w[i] = random_float(0, i);
	for (int t = 1; t <= 5; t++) {
		for (int i = 0; i < N; i++)
			a.g[i] = b.g[i] = random_float(t, i);
		apply(&a, 0, N, t, .1f);
		for (size_t from = 0, n = 1; from < N; from += n, n += 3)
			apply(&b, from, from + n < N ? n : N - from, t, .1f);
	}
	same = same_floats(b.w, a.w, N);
	for (size_t k = 0; k < a.o.slots; k++)
		same = same && same_floats(b.slot[k], a.slot[k], N);
	free(a.memory);
	free(b.memory);
	return same;
}

/* Does a NaN reach the weights, where it is detected? */
static bool
shows_nan(const char *line)
{
	struct run r = start(line);
	bool shown;

	r.g[0] = NAN;
	r.g[1] = 1;
	apply(&r, 0, 2, 1, .1f);
	shown = isnan(r.w[0]) && !isnan(r.w[1]);
	free(r.memory);
	return shown;
}

/*
 * Hashes of weights and slots, recorded once: they must be the same from any
 * compiler, at any level of optimization, on any processor.  ftrl with a power
 * is left out, as libm computes powers.
 */
static const struct { const char *line; uint64_t hash; } recorded[] = {
	{ "sgd momentum=.9 weight_decay=.1", 0x6eacb76d3ebb6510u },
	{ "sgd momentum=.9 nesterov=true", 0xe3dd9670df21d8c5u },
	{ "adagrad", 0xe954d3bc8c760cdbu },
	{ "rmsprop", 0xe397c019eae03f8cu },
	{ "rmsprop momentum=.9", 0xfd7ef7924712df60u },
	{ "rmsprop momentum=.9 centered=true", 0x51aa822987f6b341u },
	{ "adam", 0xb5b5e5158bf81839u },
	{ "adam amsgrad=true", 0xa8977837deb4b7b0u },
	{ "adamax", 0x2b4e111d2ac647cdu },
	{ "nadam", 0x0f203ba51ad32581u },
	{ "adadelta", 0x560585a90510a518u },
	{ "lion", 0x893f3c129470d001u },
	{ "ftrl l1=.01 l2=.1 l2_shrinkage=.2 beta=.5", 0xdd0ba836be9a76f3u },
};

static uint64_t
bits(const char *line)
{
	struct run r = start(line);
	uint64_t hash;

	for (int i = 0; i < N; i++)
		r.w[i] = random_float(0, i);
	for (int t = 1; t <= STEPS; t++) {
		for (int i = 0; i < N; i++)
			r.g[i] = random_float(t, i);
		apply(&r, 0, N, t, .1f);
	}
	hash = hash64(r.memory, (2 + OPTIMIZER_SLOTS) * (N + 4) *
				sizeof(float));
	free(r.memory);
	return hash;
}

static void
every_bit(void)
{
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		const uint64_t hash = bits(recorded[i].line);

		named_for(hash == recorded[i].hash,
			  "'%s' gives the recorded bits", recorded[i].line);
		if (hash != recorded[i].hash)
			printf("# %#llx\n", (unsigned long long)hash);
	}
}

static void
every_one(void)
{
	for (int i = 0; every[i]; i++) {
		named_for(pieces_equal_the_whole(every[i]), "'%s' gives the "
			  "pieces of a variable the bits of the whole",
			  every[i]);
		named_for(shows_nan(every[i]), "'%s' does not hide a NaN",
			  every[i]);
	}
}

/* Moving averages do not depend on the learning rate. */
static void
averages(void)
{
	struct optimizer o;
	float w[] = { 1, -2 };
	const loose_float sum[] = { 6, 9 };
	const struct update u = {
		.w = w, .sum = sum, .examples = 3, .n = 2, .t = 1,
		.learning_rate = 7
	};

	optimizer_average(&o, .75f);
	optimizer_apply(&o, &u);
	ok(w[0] == 1.25f && w[1] == -.75f && o.slots == 0);
	equals(schedule_at(&o.schedule, 100), 0);
}

/* A frozen variable does not move by its slots either. */
static void
frozen(void)
{
	static const char *const lines[] = {
		"sgd momentum=.9", "sgd momentum=.9 nesterov=true",
		"rmsprop momentum=.9 weight_decay=.1", "adam", "lion", "ftrl",
		"sgd schedule=piecewise_constant boundaries=3 values=0,0"
	};
	bool still = true;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		float w = 3, slot[OPTIMIZER_SLOTS] = { 1, 1, 1, 1 };
		const loose_float sum = 5;
		struct update u = {
			.w = &w, .sum = &sum, .examples = 1, .n = 1, .t = 1
		};
		struct optimizer o;
		char line[128];

		snprintf(line, sizeof(line), "%s%s", lines[i],
			 strstr(lines[i], "values") ? "" :
			 " learning_rate=0");
		o = optimizer(line);
		for (size_t k = 0; k < o.slots; k++)
			u.slot[k] = &slot[k];
		optimizer_apply(&o, &u);
		for (size_t k = 0; k < OPTIMIZER_SLOTS; k++)
			still = still && slot[k] == 1;
		still = still && w == 3;
	}
	named(still, "a frozen variable and its slots stay the same");
}

static bool
slots_are(const char *line, const char *names, float first)
{
	const struct optimizer o = optimizer(line);
	char found[128] = "";

	for (size_t k = 0; k < o.slots; k++) {
		strcat(found, k ? " " : "");
		strcat(found, o.slot_name[k]);
	}
	return strcmp(found, names) == 0 && o.slot_start[0] == first &&
	       o.slot_start[1] == 0;
}

static void
lines(void)
{
	const struct optimizer o = optimizer("adam clipnorm=2 "
					     "learning_rate=.5");

	ok(slots_are("sgd", "", 0) && slots_are("sgd momentum=0", "", 0));
	ok(slots_are("sgd momentum=.5", "momentum", 0));
	ok(slots_are("adagrad", "accumulator", .1f));
	ok(slots_are("rmsprop momentum=.1 centered=true",
		     "velocity momentum average_gradient", 0));
	ok(slots_are("adam", "momentum velocity", 0));
	ok(slots_are("adamw amsgrad=true",
		     "momentum velocity velocity_hat", 0));
	ok(slots_are("adamax", "momentum norm", 0));
	ok(slots_are("nadam", "momentum velocity", 0));
	ok(slots_are("adadelta", "accumulated_grad accumulated_delta_var", 0));
	ok(slots_are("lion", "momentum", 0));
	ok(slots_are("ftrl initial_accumulator_value=3",
		     "accumulator linear", 3));
	ok(o.clipnorm == 2 && o.clipvalue == 0 && o.global_clipnorm == 0 &&
	   schedule_at(&o.schedule, 9) == .5f && o.weight_decay == 0);
	equals(optimizer_name(&o), "adam");

	const struct { const char *name; float rate; } start_at[] = {
		{ "sgd", .01f }, { "adagrad", .001f }, { "rmsprop", .001f },
		{ "adam", .001f }, { "adamw", .001f }, { "ftrl", .001f },
		{ "adamax", .001f }, { "adadelta", .001f }, { "lion", .001f },
		{ "nadam", .001f }
	};

	for (size_t i = 0; i < sizeof(start_at) / sizeof(*start_at); i++) {
		const struct optimizer p = optimizer(start_at[i].name);

		named_for(schedule_at(&p.schedule, 0) == start_at[i].rate &&
			  p.weight_decay == (i == 4 ? .004f : 0),
			  "%s has Keras's default rate and weight decay",
			  start_at[i].name);
	}

	ok(refused("adams", "adadelta adagrad adam adamax adamw ftrl "
		   "lion nadam rmsprop sgd"));
	ok(refused("adam beta_1=1", "beta_1=1 is not"));
	ok(refused("adam amsgrad=yes", "true or false"));
	ok(refused("adam epsilon=-1", "0 or more"));
	ok(refused("adam epsilon=nan", "0 or more"));
	ok(refused("ftrl learning_rate_power=.5", "0 or less"));
	ok(refused("ftrl l1=1 l1_regularization_strength=1", "say one"));
	ok(refused("sgd clipvalue=1 global_clipnorm=1", "at most one of"));
	ok(refused("sgd weight_decay=x", "weight_decay=x"));
	ok(refused("sgd schedule=linear", "unknown schedule 'linear'"));
}

int
main(void)
{
	formulas();
	by_hand();
	every_one();
	every_bit();
	averages();
	frozen();
	lines();
	return tap_done();
}
