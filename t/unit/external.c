/* External layers: the calls that they get, and what happens to answers and
   failures.  A function that computes a dense layer answers here. */
#include "model_fixture.h"

#include "base/mem.h"
#include "model/external.h"
#include "tap.h"

#include <math.h>

#define CALLS	8

/* The calls as text, and the answers to give. */
struct answerer {
	char asked[CALLS][512];
	uint64_t seed[CALLS];
	size_t calls;
	size_t fails_at;	/* this call; CALLS: none */
	enum fail_kind kind;
	float x[64];		/* of the last forward call, */
	float kernel[64];	/* as is this */
	size_t examples;
};

static void
list(char *to, size_t room, const struct external_array *a, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char dims[SHAPE_TEXT];
		const size_t size = strlen(to);

		snprintf(to + size, room - size, " %s %zux%s", a[i].name,
			 a[i].examples, shape_text(a[i].shape, dims));
	}
}

static void
note(struct answerer *a, const struct external_call *c)
{
	char *to = a->asked[a->calls];
	const size_t room = sizeof(a->asked[0]);

	snprintf(to, room, "%s %s%s:", c->name, c->op,
		 c->training ? " training" : "");
	list(to, room, c->sent, c->sents);
	snprintf(to + strlen(to), room - strlen(to), " ->");
	list(to, room, c->wanted, c->wanteds);
	a->seed[a->calls++] = c->seed;
}

/* Computes y = x kernel + bias, from [3] to [2]; ignores other arrays. */
static void
forward(struct answerer *a, const struct external_call *c)
{
	const size_t last = c->sents - 1;
	float *y = c->wanted[0].at;

	a->examples = c->sent[0].examples;
	memcpy(a->x, c->sent[0].at, a->examples * 3 * sizeof(float));
	memcpy(a->kernel, c->sent[last - 1].at, 6 * sizeof(float));
	for (size_t i = 0; i < a->examples * 2; i++) {
		y[i] = c->sent[last].at[i % 2];
		for (size_t k = 0; k < 3; k++)
			y[i] += a->x[i / 2 * 3 + k] *
				a->kernel[k * 2 + i % 2];
	}
}

/* Computes the gradients of kernel and bias, and of x if it is wanted. */
static void
backward(struct answerer *a, const struct external_call *c)
{
	const size_t last = c->wanteds - 1;
	const float *dy = c->sent[0].at;

	for (size_t i = 0; i < c->wanteds; i++)
		memset(c->wanted[i].at, 0, external_size(&c->wanted[i]) *
		       sizeof(float));
	for (size_t i = 0; i < a->examples * 2; i++)
		for (size_t k = 0; k < 3; k++) {
			const size_t x = i / 2 * 3 + k, w = k * 2 + i % 2;

			if (c->wanteds > 2)
				c->wanted[0].at[x] += a->kernel[w] * dy[i];
			c->wanted[last - 1].at[w] += a->x[x] * dy[i];
			c->wanted[last].at[i % 2] += k == 0 ? dy[i] : 0;
		}
}

static int
answer(void *own, const struct external_call *c, struct fail *f)
{
	struct answerer *a = own;
	const bool fails = a->calls == a->fails_at;

	note(a, c);
	if (fails)
		return fail(f, a->kind, "no such number");
	if (strcmp(c->op, "backward") == 0)
		backward(a, c);
	else
		forward(a, c);
	return 0;
}

static int
begin(void *own, const struct model *m, struct fail *f)
{
	(void)own, (void)m, (void)f;
	return 0;
}

#define DATA	"input x float[3]\ninput r float[3]\nlabel t float\n"
#define VARIABLES "variable W [3,2]\nvariable b [2] initializer=ones\n"
#define LOSS	"p = linear y\nloss mean_squared_error p\n"

static void
open_fixture(struct model_fixture *r, struct answerer *a, struct externals *e,
	 const char *text, size_t examples)
{
	struct rng rng = { .seed = 4 };

	*a = (struct answerer){ .fails_at = CALLS };
	*e = (struct externals){ .own = a, .begin = begin,
				  .call = answer };
	fixture_begin_with(r, text, e);
	fixture_fill(r, &rng);
	for (size_t i = 0; i < examples; i++)
		fixture_add_example(r, &rng);
	fixture_pull(r);
}

static bool
near(const float *a, const float *b, size_t n)
{
	bool good = true;

	for (size_t i = 0; i < n; i++)
		good = good && fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(b[i]));
	return good;
}

/* Are the gradients of both models equal, by the variables of the first? */
static bool
same_gradients(const struct model_fixture *r, const struct model_fixture *dense,
	       const char *const *name, const char *const *other)
{
	bool good = true;

	for (size_t i = 0; name[i]; i++) {
		const struct variable *v = model_variable(r->model, name[i]);
		const struct variable *w = model_variable(dense->model,
							  other[i]);

		good = good && near(
			compute_gradient(r->compute, (size_t)(v -
							r->variable)),
			compute_gradient(dense->compute,
					 (size_t)(w - dense->variable)),
			shape_size(v->shape));
	}
	return good;
}

/* Copies the values of one model to the other, by the names of variables. */
static void
share_values(const struct model_fixture *from, struct model_fixture *to,
	     const char *const *name, const char *const *other)
{
	for (size_t i = 0; name[i]; i++) {
		const size_t v = (size_t)(model_variable(from->model,
					name[i]) - from->variable);
		const size_t w = (size_t)(model_variable(to->model,
					other[i]) - to->variable);

		memcpy(to->w[w], from->w[v],
		       shape_size(from->variable[v].shape) * sizeof(float));
	}
	fixture_pull(to);
}

static void
test_dense(void)
{
	static const char *const mine[] = { "q/kernel", "q/bias", "W", "b",
					    "p/kernel", NULL };
	static const char *const its[] = { "q/kernel", "q/bias", "y/kernel",
					   "y/bias", "p/kernel", NULL };
	struct answerer a, none;
	struct externals e, f;
	struct model_fixture r, dense;

	open_fixture(&r, &a, &e, DATA VARIABLES "q = dense x units=3\n"
		 "y = external q shape=[2] variables=W,b activation=tanh\n"
		 LOSS, 5);
	open_fixture(&dense, &none, &f, DATA "q = dense x units=3\n"
		 "y = dense q units=2 activation=tanh\n" LOSS, 5);
	share_values(&r, &dense, mine, its);
	compute_train(r.compute, 1, NULL);
	compute_train(dense.compute, 1, NULL);
	ok(!compute_failure(r.compute));
	ok(fabs(compute_loss(r.compute) - compute_loss(dense.compute)) <
	   1e-5 * compute_loss(dense.compute));
	ok(same_gradients(&r, &dense, mine, its));
	fixture_end(&r);
	fixture_end(&dense);
}

static void
test_requests(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;

	open_fixture(&r, &a, &e, DATA VARIABLES "q = dense x units=3\n"
		 "y = external q r shape=[2] variables=W,b\n" LOSS, 2);
	compute_train(r.compute, 9, NULL);
	compute_forward(r.compute);
	equals(a.calls, 3);
	ok(strcmp(a.asked[0], "y forward training: q 2x[3] r 2x[3] "
		  "W 0x[3, 2] b 0x[2] -> y 2x[2]") == 0);
	/* r is an input, so no gradient is wanted for it. */
	ok(strcmp(a.asked[1], "y backward training: y 2x[2] -> q 2x[3] "
		  "W 0x[3, 2] b 0x[2]") == 0);
	ok(strcmp(a.asked[2], "y forward: q 2x[3] r 2x[3] W 0x[3, 2] b 0x[2] "
		  "-> y 2x[2]") == 0);
	ok(a.seed[0] == a.seed[1] && a.seed[0] < (uint64_t)1 << 53);
	compute_train(r.compute, 10, NULL);
	ok(a.seed[3] != a.seed[0]);
	fixture_end(&r);
}

/* Computes several outputs: y = x W + b, z and u are twice that. */
static int
answer_several(void *own, const struct external_call *c, struct fail *f)
{
	struct answerer *a = own;
	struct external_call one = *c;
	struct external_array dy = c->sent[0];

	(void)f;
	note(a, c);
	if (strcmp(c->op, "forward") == 0) {
		forward(a, c);
		for (size_t i = 0; i < 2 * a->examples; i++)
			c->wanted[1].at[i] = c->wanted[2].at[i] =
				2 * c->wanted[0].at[i];
		return 0;
	}
	dy.at = mem_copy(dy.at, 2 * a->examples * sizeof(float));
	for (size_t i = 0; i < 2 * a->examples; i++)
		dy.at[i] += 2 * c->sent[1].at[i] + 2 * c->sent[2].at[i];
	one.sent = &dy;
	backward(a, &one);
	free(dy.at);
	return 0;
}

#define TWIN_LOSS "k = concat u z h\np = linear k\n" \
	"loss mean_squared_error p\n"

static void
test_outputs(void)
{
	static const char *const mine[] = { "q/kernel", "q/bias", "W", "b",
					    "p/kernel", NULL };
	static const char *const its[] = { "q/kernel", "q/bias", "y/kernel",
					   "y/bias", "p/kernel", NULL };
	struct answerer a, none;
	struct externals e, f;
	struct model_fixture r, dense;

	open_fixture(&r, &a, &e, DATA VARIABLES "q = dense x units=3\n"
		 "y = external q shape=[2] outputs=n[2,1],u[2] "
		 "variables=W,b\nh = tanh y\nz = flatten n\n" TWIN_LOSS, 5);
	e.call = answer_several;
	open_fixture(&dense, &none, &f, DATA "q = dense x units=3\n"
		 "y = dense q units=2\nh = tanh y\nu = add y y\n"
		 "z = add y y\n" TWIN_LOSS, 5);
	share_values(&r, &dense, mine, its);
	compute_train(r.compute, 1, NULL);
	compute_train(dense.compute, 1, NULL);
	ok(fabs(compute_loss(r.compute) - compute_loss(dense.compute)) <
	   1e-5 * compute_loss(dense.compute));
	ok(same_gradients(&r, &dense, mine, its));
	ok(strcmp(a.asked[0], "y forward training: q 5x[3] W 0x[3, 2] "
		  "b 0x[2] -> y 5x[2] n 5x[2, 1] u 5x[2]") == 0);
	ok(strcmp(a.asked[1], "y backward training: y 5x[2] n 5x[2, 1] "
		  "u 5x[2] -> q 5x[3] W 0x[3, 2] b 0x[2]") == 0);
	fixture_end(&r);
	fixture_end(&dense);
}

/* Ids have no gradient. */
static void
test_ids(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;

	open_fixture(&r, &a, &e, DATA "input i id[2] rows=3\n"
		 "input s sparse[9]\n" VARIABLES
		 "y = external x i t s shape=[2] variables=W,b\n" LOSS, 2);
	compute_train(r.compute, 9, NULL);
	ok(!compute_failure(r.compute) && a.calls == 2);
	ok(strcmp(a.asked[0], "y forward training: x 2x[3] i 2x[2] t 2x[] "
		  "s 0x[2] s/offset 3x[] s/weight 0x[2] W 0x[3, 2] b 0x[2] "
		  "-> y 2x[2]") == 0);
	ok(strcmp(a.asked[1], "y backward training: y 2x[2] -> "
		  "W 0x[3, 2] b 0x[2]") == 0);
	fixture_end(&r);
}

/* Two layers may have one variable: its gradient is the sum of both. */
static void
test_shared(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	float once[6];
	size_t w;

	open_fixture(&r, &a, &e, DATA VARIABLES
		 "y = external x shape=[2] variables=W,b\n" LOSS, 3);
	compute_train(r.compute, 0, NULL);
	w = (size_t)(model_variable(r.model, "W") - r.variable);
	memcpy(once, compute_gradient(r.compute, w), sizeof(once));
	fixture_end(&r);
	/* The same layer, on which the loss does not depend. */
	open_fixture(&r, &a, &e, DATA VARIABLES
		 "z = external x shape=[2] variables=W,b\n"
		 "y = external x shape=[2] variables=W,b\n" LOSS, 3);
	compute_train(r.compute, 0, NULL);
	equals(a.calls, 4);
	ok(near(compute_gradient(r.compute, w), once, 6));
	fixture_end(&r);
	open_fixture(&r, &a, &e, DATA VARIABLES
		 "z = external x shape=[2] variables=W,b\n"
		 "v = external x shape=[2] variables=W,b\n"
		 "y = average z v\n" LOSS, 3);
	compute_train(r.compute, 0, NULL);
	ok(near(compute_gradient(r.compute, w), once, 6));
	fixture_end(&r);
}

/* A failure is reported once, with the program and the line; no call
   follows. */
static void
test_failure(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	struct fail f = { 0 };

	open_fixture(&r, &a, &e, DATA VARIABLES
		 "v = external x shape=[2] variables=W,b\n"
		 "y = external r shape=[2] variables=W,b\nz = add v y\n"
		 "p = linear z\nloss mean_squared_error p\n", 3);
	for (size_t at = 0; at < 4; at++) {
		a.calls = 0;
		a.fails_at = at;
		a.kind = at % 2 ? FAIL_PEER : FAIL_DATA;
		compute_train(r.compute, 0, NULL);
		ok(compute_failure(r.compute) && a.calls == at + 1);
		ok(compute_check(r.compute, &f) == -1 && f.kind == a.kind);
		ok(strcmp(f.text, at == 0 || at == 3 ?
			  "model.ps:6: v: no such number" :
			  "model.ps:7: y: no such number") == 0);
	}
	a.calls = 0;
	a.fails_at = 1;
	compute_forward(r.compute);
	ok(compute_failure(r.compute) && a.calls == 2);
	/* The next batch is tried again. */
	a.calls = 0;
	a.fails_at = CALLS;
	compute_train(r.compute, 0, NULL);
	ok(!compute_failure(r.compute) && a.calls == 4);
	equals(compute_check(r.compute, &f), 0);
	fixture_end(&r);
}

/* The variables of an external layer may have regularizers. */
static void
test_regularizer(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	double plain;

	open_fixture(&r, &a, &e, DATA VARIABLES
		 "y = external x shape=[2] variables=W,b\n" LOSS, 3);
	compute_train(r.compute, 0, NULL);
	plain = compute_loss(r.compute);
	fixture_end(&r);
	open_fixture(&r, &a, &e, DATA "variable W [3,2] regularizer=l2:0.5\n"
		 "variable b [2] initializer=ones\n"
		 "y = external x shape=[2] variables=W,b\n" LOSS, 3);
	compute_train(r.compute, 0, NULL);
	for (size_t i = 0; i < 6; i++)
		plain += 3 * .5 * (double)r.w[0][i] * (double)r.w[0][i];
	ok(fabs(compute_loss(r.compute) - plain) < 1e-5 * plain);
	fixture_end(&r);
}

static bool
refuses(const char *line, const char *why)
{
	char text[512];
	struct model_file file = { (char *)(uintptr_t)"model.ps", text, 0 };
	const struct model_source source = { .file = &file, .count = 1 };
	struct model *m;
	struct fail f;

	snprintf(text, sizeof(text), DATA "input i id rows=3\n" VARIABLES
		 "d = dense x units=2\n%s" LOSS, line);
	file.size = strlen(text);
	m = model_parse(&source, &f);
	if (!m && strcmp(f.text, why) == 0 && f.kind == FAIL_CONFIG)
		return true;
	tap_differ(m ? "no error" : f.text, why);
	model_free(m);
	return false;
}

static void
test_refusals(void)
{
	ok(refuses("y = external\n", "model.ps:8: y: external takes at least "
		   "1 input, not 0"));
	ok(refuses("y = external x\n", "model.ps:8: y: shape= is missing"));
	ok(refuses("y = external x shape=[]\n",
		   "model.ps:8: y: shape=[] is not like [3,4]"));
	ok(refuses("y = external t shape=[2]\n", "model.ps:8: y: external "
		   "takes an input besides the label"));
	ok(refuses("y = external t x t shape=[2]\n",
		   "model.ps:8: y: t comes twice"));
	ok(refuses("y = dense t units=2\n",
		   "model.ps:8: t is the label, which only "
		   "an external layer may take"));
	ok(refuses("y = external x shape=[2] outputs=e[2],[3]\n",
		   "model.ps:8: y: outputs=e[2],[3] is not like "
		   "name[3,4],other[8]"));
	ok(refuses("y = external x shape=[2] outputs=e[0]\n",
		   "model.ps:8: y: outputs=e[0] is not like "
		   "name[3,4],other[8]"));
	ok(refuses("y = external x shape=[2] outputs=e[2]f[3]\n",
		   "model.ps:8: y: outputs=e[2]f[3] is not like "
		   "name[3,4],other[8]"));
	ok(refuses("y = external x shape=[2] outputs=y[2]\n",
		   "model.ps:8: y is already defined at model.ps:8"));
	ok(refuses("y = external x shape=[2] outputs=e[2],e[2]\n",
		   "model.ps:8: e is already defined at model.ps:8"));
	ok(refuses("y = external x shape=[2] outputs=W[2]\n",
		   "model.ps:8: W is already a variable"));
	ok(refuses("y = external x shape=[2] outputs=t[2]\n",
		   "model.ps:8: t is already the label, at model.ps:3"));
	ok(refuses("y = external x shape=[2] outputs=e[67108863],g[2]\n",
		   "model.ps:8: y: [67108867] is too large for one example; "
		   "the limit is 67108864 numbers"));
	ok(refuses("y = external x shape=[2] variables=V\n",
		   "model.ps:8: y: variables: there is no line 'variable V "
		   "SHAPE' above"));
	ok(refuses("y = external x shape=[2] variables=d/kernel\n",
		   "model.ps:8: y: variables: there is no line 'variable "
		   "d/kernel SHAPE' above"));
	ok(refuses("y = external x shape=[2] variables=W,b,W\n",
		   "model.ps:8: y: variables: W comes twice"));
	ok(refuses("y = external x shape=[2] command=./y.py\n",
		   "model.ps:8: unknown setting command; there are shape, "
		   "outputs, variables, activation"));
}

int
main(void)
{
	test_dense();
	test_requests();
	test_outputs();
	test_ids();
	test_shared();
	test_failure();
	test_regularizer();
	test_refusals();
	return tap_done();
}
