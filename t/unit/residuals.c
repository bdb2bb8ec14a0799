/*
 * The residuals that a worker keeps of its gradients: which of two residuals is
 * used, its factor in another step, and that the gradients sent and kept add up
 * to those that came.
 */
#include "worker/residuals.h"

#include "model_fixture.h"
#include "tap.h"

#include <math.h>

#define FLOATS	2100		/* of the kernel */

static const char model[] =
	"input x float[70]\nlabel y float\nd = dense x units=30\n"
	"p = dense d units=1\nloss mean_squared_error p\n"
	"optimizer sgd learning_rate=0.5\n";

static struct model_fixture fixture;
static struct plan plan;
static size_t kernel;
static float sent[FLOATS];
static char bytes[8 * FLOATS];
static size_t size;
static struct fail f;

static struct lease
lease(uint64_t step, uint64_t attempt, enum push_how how, uint64_t left_step,
      uint64_t left_attempt)
{
	return (struct lease){
		.first = step, .attempt = attempt, .replicas = 1, .batch = 4,
		.push = { true, how, left_step, left_attempt }
	};
}

static float *
gradient(void)
{
	return compute_gradient(fixture.compute, kernel);
}

static void
set_gradient(float x)
{
	for (size_t i = 0; i < FLOATS; i++)
		gradient()[i] = x * (float)(i % 5 + 1);
}

/* Pushes the gradient as a client does, and decodes it to sent. */
static int
push(struct residuals *r, const struct lease *l)
{
	const struct codec_slice s = { .rows = FLOATS, .width = 1,
				       .of = FLOATS, .keep = 100 };
	const struct codec *codec = plan.codings->of[kernel][WAY_PUSH].codec;
	float *const *left;

	if (residuals_add(r, l, fixture.compute, &left, &f) < 0)
		return -1;
	memcpy(sent, gradient(), sizeof(sent));
	if (!left)
		return 0;
	size = codec_encode(codec, bytes, gradient(), s);
	codec_decode(codec, sent, bytes, s);
	for (size_t i = 0; i < FLOATS; i++)
		left[kernel][i] = gradient()[i] - sent[i];
	return 0;
}

static void
code_by(const char *text)
{
	struct coding_rule rule = { 0 };

	codings_free(plan.codings);
	plan.codings = codings_new(fixture.variables);
	if (coding_add(&rule, "--push", text, false, &f) < 0)
		printf("Bail out! %s\n", f.text);
	codings_make(plan.codings, WAY_PUSH, &rule, fixture.variable);
}

/* Compares the sum of all pushes of some steps, the last of which flushes the
   residuals, with the sum of the gradients. */
static void
sums(const char *text)
{
	struct residuals *r = residuals_new(&plan, fixture.model);
	static double came[FLOATS], went[FLOATS];
	struct lease l = lease(0, 1, PUSH_CODED, 0, 0);
	bool equal = true, kept = true;

	code_by(text);
	memset(came, 0, sizeof(came));
	memset(went, 0, sizeof(went));
	for (uint64_t step = 0; step < 9; step++) {
		set_gradient((float)(step % 3) - 1);
		for (size_t i = 0; i < FLOATS; i++)
			came[i] += (double)gradient()[i];
		if (step > 0)
			l = lease(step, 1, step < 8 ? PUSH_CODED : PUSH_FLUSH,
				  step - 1, 1);
		if (push(r, &l) < 0)
			equal = false;
		kept = kept && (residuals_squares(r, &l) > 0) == (step < 8);
		for (size_t i = 0; i < FLOATS; i++)
			went[i] += (double)sent[i];
	}
	for (size_t i = 0; i < FLOATS; i++)
		equal = equal && fabs(came[i] - went[i]) < 1e-4;
	named(equal, "all pushes together send the sum of the gradients");
	named(kept,
	      "a residual is kept after each push, and none after a flush");
	residuals_free(r);
}

static void
attempts(void)
{
	struct residuals *r = residuals_new(&plan, fixture.model);
	struct lease l = lease(0, 1, PUSH_CODED, 0, 0);
	static float first[FLOATS];

	code_by("onebit");
	set_gradient(1);
	push(r, &l);
	for (size_t i = 0; i < FLOATS; i++)
		first[i] = gradient()[i] - sent[i];
	l = lease(1, 1, PUSH_CODED, 0, 1);
	set_gradient(7);
	push(r, &l);
	set_gradient(0);
	l = lease(1, 3, PUSH_FLUSH, 0, 1);
	ok(push(r, &l) == 0);
	named(same_floats(sent, first, FLOATS),
	      "a second attempt starts from the residual of the step before");
	set_gradient(0);
	l = lease(2, 1, PUSH_CODED, 0, 0);
	ok(push(r, &l) == 0);
	named(sent[0] == 0 && sent[5] == 0, "a flush leaves no residual");
	l = lease(3, 1, PUSH_EXACT, 0, 0);
	set_gradient(3);
	ok(push(r, &l) == 0 && sent[1] == 6);
	l = lease(4, 1, PUSH_CODED, 2, 1);
	named(push(r, &l) < 0 && strstr(f.text, "not here"),
	      "an exact push drops the residual of the push before");
	residuals_free(r);
}

/* Returns the factor of the residual of a gradient of 1 in the next step. */
static float
next(struct lease a, struct lease b)
{
	struct residuals *r = residuals_new(&plan, fixture.model);
	float left;

	set_gradient(1);
	push(r, &a);
	left = gradient()[0] - sent[0];
	set_gradient(0);
	push(r, &b);
	residuals_free(r);
	return sent[0] / left;
}

static void
scales(void)
{
	struct lease a = lease(0, 1, PUSH_CODED, 0, 0);
	struct lease b = lease(1, 1, PUSH_FLUSH, 0, 1);

	code_by("onebit");
	named_equals(next(a, b), 1,
		     "at the same rate and batch a residual keeps its size");
	a.learning_rate = 0.25f;
	named_equals(next(a, b), 0.5f,
		     "at a higher rate a residual is made smaller");
	b.learning_rate = 0.125f;
	named_equals(next(a, b), 2,
		     "at a lower rate a residual is made larger");
	b.learning_rate = 0.25f;
	b.batch = 8;
	named_equals(next(a, b), 2,
		     "in a larger batch a residual is made larger");
}

/* ---- cases for codecs.py ---- */

static void
print_hex(const void *from, size_t count)
{
	const unsigned char *at = from;

	for (size_t i = 0; i < count; i++)
		printf("%02x", at[i]);
	printf("\n");
}

static void
print_pushes(struct rng *rng, const char *text, const char *name)
{
	struct residuals *r = residuals_new(&plan, fixture.model);
	struct lease l = lease(0, 1, PUSH_CODED, 0, 0);

	code_by(text);
	printf("residual %s 100 8\n", name);
	for (uint64_t step = 0; step < 8; step++) {
		if (step > 0)
			l = lease(step, 1, step < 7 ? PUSH_CODED : PUSH_FLUSH,
				  step - 1, 1);
		l.batch = 1 + rng_below(rng, 9);
		l.learning_rate = step % 3 == 2 ? 0 :
			0.01f * (float)(1 + rng_below(rng, 50));
		for (size_t i = 0; i < FLOATS; i++)
			gradient()[i] = fixture_random(rng) - 0.5f;
		printf("%llu %.9g\n", (unsigned long long)l.batch,
		       l.learning_rate > 0 ? (double)l.learning_rate : 0.5);
		print_hex(gradient(), sizeof(sent));
		push(r, &l);
		print_hex(step < 7 ? (void *)bytes : (void *)sent,
			  step < 7 ? size : sizeof(sent));
	}
	residuals_free(r);
}

int
main(int argc, char **argv)
{
	struct rng rng = { .seed = 3 };

	(void)argv;
	fixture_begin(&fixture, model);
	while (shape_size(fixture.variable[kernel].shape) != FLOATS)
		kernel++;
	for (int e = 0; e < 4; e++)
		fixture_add_example(&fixture, &rng);
	compute_begin(fixture.compute, &fixture.batch);
	compute_train(fixture.compute, 1, NULL);
	if (argc > 1) {
		print_pushes(&rng, "onebit", "onebit");
		print_pushes(&rng, "topk:0.1", "topk");
	} else {
		sums("onebit");
		sums("topk:0.1");
		attempts();
		scales();
	}
	codings_free(plan.codings);
	fixture_end(&fixture);
	return argc > 1 ? 0 : tap_done();
}
