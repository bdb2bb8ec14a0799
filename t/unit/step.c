/* Steps that a program computes: the calls that it gets, and what happens to
   its answers and to malformed ones.  A function answers here. */
#include "model_fixture.h"

#include "model/external.h"
#include "tap.h"

#include <math.h>

/* The last call as text, and the answer to give. */
struct answerer {
	char asked[1024];
	size_t calls;
	uint64_t seed, batch;
	double sum;		/* of the numbers that were sent */
	float gives;		/* all numbers that are wanted */
	struct external_answer answer;
	enum fail_kind kind;	/* 0: it does not fail */
};

static void
list(char *to, size_t room, const struct external_array *a, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char dims[SHAPE_TEXT];
		const size_t size = strlen(to);

		snprintf(to + size, room - size, " %s%s%s %zux%s", a[i].name,
			 a[i].id ? "(id)" : "", a[i].fixed ? "(fixed)" : "",
			 a[i].examples, shape_text(a[i].shape, dims));
	}
}

static double
sum_of(const struct external_array *a)
{
	double sum = 0;

	for (size_t i = 0; i < external_size(a); i++)
		sum += a->id ? (double)a->id[i] : (double)a->at[i];
	return sum;
}

static int
answer(void *own, const struct external_call *c, struct fail *f)
{
	struct answerer *a = own;
	char *to = a->asked;
	const size_t room = sizeof(a->asked);

	snprintf(to, room, "%s %s %llu:", c->name, c->op,
		 (unsigned long long)c->step);
	list(to, room, c->sent, c->sents);
	snprintf(to + strlen(to), room - strlen(to), " ->");
	list(to, room, c->wanted, c->wanteds);
	a->calls++;
	a->seed = c->seed;
	a->batch = c->batch;
	a->sum = 0;
	for (size_t i = 0; i < c->sents; i++)
		a->sum += sum_of(&c->sent[i]);
	for (size_t i = 0; i < c->wanteds; i++)
		for (size_t k = 0; k < external_size(&c->wanted[i]); k++)
			c->wanted[i].at[k] = a->gives;
	if (a->kind)
		return fail(f, a->kind, "no such number");
	if (a->answer.examples == 0)
		a->answer.examples = c->answer->examples;
	*c->answer = a->answer;
	return 0;
}

static int
begin(void *own, const struct model *m, struct fail *f)
{
	(void)own, (void)m, (void)f;
	return 0;
}

#define DATA	"input x float[3]\ninput i id[2] rows=5\n" \
		"input s sparse[4]\nlabel t float\n"
#define VARIABLES "variable W [3,2]\nvariable n [2] trainable=false\n"

static void
open_fixture(struct model_fixture *r, struct answerer *a, struct externals *e,
	 const char *text, size_t examples)
{
	struct rng rng = { .seed = 4 };

	*a = (struct answerer){ .gives = 2,
				.answer = { .loss = .5, .has_loss = true } };
	*e = (struct externals){ .own = a, .begin = begin,
				  .call = answer };
	fixture_begin_with(r, text, e);
	fixture_fill(r, &rng);
	for (size_t i = 0; i < examples; i++)
		fixture_add_example(r, &rng);
	fixture_pull(r);
}

static size_t
find(const struct model_fixture *r, const char *name)
{
	return (size_t)(model_variable(r->model, name) - r->variable);
}

/* Is every number of the variable's gradient this one? */
static bool
all_are(const struct model_fixture *r, const char *name, float x)
{
	const size_t v = find(r, name);
	const size_t width = shape_width(r->variable[v].shape);
	const float *g = compute_gradient(r->compute, v);

	for (size_t i = 0; i < compute_rows(r->compute, v).count * width; i++)
		if (g[i] < x || g[i] > x)
			return false;
	return true;
}

/* Is it this text?  If not, prints it. */
static bool
is(const char *text, const char *wanted)
{
	if (strcmp(text, wanted) == 0)
		return true;
	tap_differ(text, wanted);
	return false;
}

/* Is the batch refused with this error of data? */
static bool
refused(const struct model_fixture *r, const char *why)
{
	struct fail f = { 0 };

	return compute_check(r->compute, &f) == -1 && f.kind == FAIL_DATA &&
		is(f.text, why);
}

static void
test_requests(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	uint64_t seed;

	open_fixture(&r, &a, &e, DATA VARIABLES "e = embedding i dim=2\n"
		 "step go x e t variables=W,n predicts=[4]\n", 3);
	compute_step(r.compute, 7, 0, NULL);
	compute_train(r.compute, 9, NULL);
	named(is(a.asked, "go step 7: x 3x[3] e 3x[2, 2] t 3x[] "
		 "W 0x[3, 2] n(fixed) 0x[2] -> e 3x[2, 2] W 0x[3, 2] "
		 "n(fixed) 0x[2]"),
	      "the request of a step asks for gradients");
	seed = a.seed;
	compute_train(r.compute, 9, NULL);
	named(a.seed == seed && seed < (uint64_t)1 << 53 && seed > 0,
	      "a step that is run again has the same seed");
	compute_train(r.compute, 10, NULL);
	named(a.seed != seed, "another step has another seed");
	compute_forward(r.compute);
	named(is(a.asked, "go evaluate 7: x 3x[3] e 3x[2, 2] t 3x[] "
		 "W 0x[3, 2] n(fixed) 0x[2] ->"),
	      "the request of an evaluation asks for no gradients");
	r.batch.label.input = NULL;
	fixture_pull(&r);
	compute_predict(r.compute);
	named(is(a.asked, "go predict 7: x 3x[3] e 3x[2, 2] "
		 "W 0x[3, 2] n(fixed) 0x[2] -> go 3x[4]"),
	      "the request of a prediction has no label");
	equals(model_outputs(r.model), 4);
	equals(compute_prediction(r.compute)[11], 2);
	fixture_end(&r);
}

/* Ids are sent as they were read, and those of bags with their offsets. */
static void
test_ids(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	double sum = 0;

	open_fixture(&r, &a, &e, DATA "step go i s\n", 4);
	compute_train(r.compute, 0, NULL);
	named(strstr(a.asked, "go step 0: i(id) 4x[2] s(id) 0x[") == a.asked &&
	      strstr(a.asked, "s/offset(id) 5x[] s/weight 0x["),
	      "ids are sent with their offsets and weights");
	for (size_t i = 0; i < 8; i++)
		sum += (double)feature_id(&r.batch.feature[1], i);
	for (size_t i = 0; i < r.batch.feature[2].offset[4]; i++)
		sum += (double)feature_id(&r.batch.feature[2], i) +
			(double)r.batch.feature[2].weight[i];
	for (size_t i = 0; i <= 4; i++)
		sum += (double)r.batch.feature[2].offset[i];
	named(fabs(sum - a.sum) < 1e-9,
	      "the sent ids, offsets and weights are those of the batch");
	fixture_end(&r);
}

static void
test_answer(void)
{
	struct metric_state state[2] = { 0 };
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	size_t metrics;
	const struct metric *metric;
	float most = 0;
	struct fail f = { 0 };

	open_fixture(&r, &a, &e, DATA VARIABLES "e = embedding i dim=2\n"
		 "step go x e\nmetric hits\nmetric f1\n", 4);
	a.answer.examples = 3;
	a.answer.metrics = 1;
	a.answer.metric[0] = (struct external_metric){ "f1", 6, 8 };
	compute_train(r.compute, 0, state);
	metric = model_metrics(r.model, &metrics);
	named_equals(compute_check(r.compute, &f), 0, "the answer is accepted");
	named_equals(compute_examples(r.compute), 3,
		     "the step counts the three examples of the answer");
	named(fabs(compute_loss(r.compute) - 1.5) < 1e-12,
	      "the loss is the mean over the answer's examples");
	named(all_are(&r, "W", 2),
	      "the gradient of a variable is the answer's, for each example");
	named(all_are(&r, "n", 6),
	      "the value of a buffer is weighted as a mean");
	for (size_t i = 0; i < 5; i++)
		most += compute_gradient(r.compute, find(&r, "e/embeddings"))
			[i < compute_rows(r.compute, find(&r,
					"e/embeddings")).count ? 2 * i : 0];
	named(most >= 16, "the gradient of a layer goes on to its table");
	ok(metrics == 2 && fabs(metric_value(&metric[1], &state[1]) - .75) <
	   1e-12);
	named(isnan(metric_value(&metric[0], &state[0])),
	      "a metric that the answer lacks is NaN");
	fixture_end(&r);
}

/* A step of one line does not touch the variables of another line. */
static void
test_lines(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	size_t line;

	open_fixture(&r, &a, &e, DATA VARIABLES "e = embedding i dim=2\n"
		 "step go x e t variables=n\nstep too x reads=n variables=W\n",
		 3);
	ok(model_find_step(r.model, NULL, &line) && line == 0);
	ok(!model_find_step(r.model, "three", &line));
	ok(model_find_step(r.model, "too", &line) && line == 1);
	compute_train(r.compute, 9, NULL);
	named(is(a.asked, "go step 0: x 3x[3] e 3x[2, 2] t 3x[] "
		 "n(fixed) 0x[2] -> e 3x[2, 2] n(fixed) 0x[2]"),
	      "a request without a step's name uses the first line");
	compute_choose(r.compute, line);
	fixture_pull(&r);
	compute_train(r.compute, 9, NULL);
	named(is(a.asked, "too step 0: x 3x[3] W 0x[3, 2] n(fixed) 0x[2] -> "
		 "W 0x[3, 2]"), "a variable in reads= gets no gradient");
	named(compute_rows(r.compute, find(&r, "e/embeddings")).count == 0 &&
	      !compute_uses(r.compute, find(&r, "e/embeddings")),
	      "a table that the line does not use is not pulled");
	named(compute_uses(r.compute, find(&r, "n")) &&
	      !compute_trains(r.compute, find(&r, "n")) &&
	      compute_trains(r.compute, find(&r, "W")),
	      "a variable in reads= is pulled, and not pushed");
	fixture_end(&r);
}

/* A program with data of its own reports their number, and their end. */
static void
test_own_data(void)
{
	struct metric_state state[1] = { 0 };
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	struct rng rng = { .seed = 5 };
	size_t line, dataset;
	struct fail f = { 0 };

	open_fixture(&r, &a, &e, DATA VARIABLES "e = embedding i dim=2\n"
		 "step own variables=W,n\nstep go x e t reads=W\nmetric f1\n",
		 0);
	ok(!model_reads(r.model, 0) && model_reads(r.model, 1));
	named(model_scored(r.model, &line, &dataset) && line == 1,
	      "an evaluation uses the first line with inputs");
	compute_step(r.compute, 7, 32, NULL);
	compute_train(r.compute, 9, state);
	named(refused(&r, "model.ps:8: own: the answer does not say how many "
		      "\"examples\" it took, or \"end\":true"),
	      "an answer without examples is refused, since the program has "
	      "its own data");
	a.answer.examples = 5;
	a.answer.metrics = 1;
	a.answer.metric[0] = (struct external_metric){ "f1", 6, 8 };
	compute_train(r.compute, 9, state);
	named(is(a.asked, "own step 7: W 0x[3, 2] n(fixed) 0x[2] -> "
		 "W 0x[3, 2] n(fixed) 0x[2]") && a.batch == 32,
	      "a program with its own data is sent variables alone, and the "
	      "batch size");
	named(compute_check(r.compute, &f) == 0 && !compute_ended(r.compute) &&
	      compute_examples(r.compute) == 5 &&
	      fabs(compute_loss(r.compute) - 2.5) < 1e-12 &&
	      all_are(&r, "W", 2) && all_are(&r, "n", 10) &&
	      state[0].sum[0] > 0,
	      "the answer's examples, loss and gradients count");
	a.answer.ended = true;
	compute_train(r.compute, 9, NULL);
	ok(refused(&r, "model.ps:8: own: \"examples\":5 with \"end\":true, "
		   "which is of none"));
	a.answer = (struct external_answer){ .ended = true };
	compute_train(r.compute, 9, NULL);
	named(compute_check(r.compute, &f) == 0 && compute_ended(r.compute),
	      "the program's data end");
	compute_choose(r.compute, line);
	for (size_t i = 0; i < 3; i++)
		fixture_add_example(&r, &rng);
	fixture_pull(&r);
	a.answer = (struct external_answer){ .ended = true };
	compute_train(r.compute, 9, NULL);
	ok(refused(&r, "model.ps:9: go: \"end\":true is for a step line "
		   "without inputs") && a.batch == 0);
	metric_release(&state[0]);
	fixture_end(&r);
}

/* Two data sets use one table, with different numbers of examples. */
static void
test_data_sets(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	struct model_dataset d;
	size_t line, dataset;
	float sum = 0;

	open_fixture(&r, &a, &e, "input j id[2] rows=5 from=other\n"
		 "input x float[3]\ninput i id[2] rows=5\nlabel t float\n"
		 "e = embedding i dim=2\ng = embedding j share=e\n"
		 "step go x e g t\nstep one g\n", 3);
	ok(model_datasets(r.model) == 2 && model_reads(r.model, 0) == 3 &&
	   model_reads(r.model, 1) == 2 && model_reads_first(r.model, 1) == 1);
	ok(model_scored(r.model, &line, &dataset) && line == 1 && dataset == 1);
	d = model_dataset(r.model, 1);
	named(strcmp(d.name, "other") == 0 && d.first == 2 && d.inputs == 1 &&
	      strcmp(d.input->name, "j") == 0 && !d.label &&
	      model_dataset(r.model, 0).label,
	      "the inputs of a data set stand side by side");
	r.batch.each = mem_alloc(2, sizeof(*r.batch.each));
	r.batch.datasets = 2;
	r.batch.each[0] = 3;
	r.batch.each[1] = 1;
	equals(batch_datasets(&r.batch), 3);
	fixture_pull(&r);
	compute_train(r.compute, 9, NULL);
	named(is(a.asked, "go step 0: x 3x[3] e 3x[2, 2] g 1x[2, 2] t 3x[] "
		 "-> e 3x[2, 2] g 1x[2, 2]"),
	      "each data set has its own number of examples");
	for (size_t i = 0; i < 2 * compute_rows(r.compute, 0).count; i++)
		sum += compute_gradient(r.compute, 0)[i];
	named(fabsf(sum - 2 * 4 * (3 + 1)) < 1e-6f,
	      "the gradients of both data sets go to the table");
	named_equals(compute_examples(r.compute), 3,
		     "the examples of the first input's data set count");
	a.answer.examples = 4;
	compute_train(r.compute, 9, NULL);
	ok(!compute_failure(r.compute));
	a.answer.examples = 5;
	compute_train(r.compute, 9, NULL);
	ok(refused(&r, "model.ps:7: go: \"examples\":5, where 4 were sent"));
	fixture_end(&r);
}

static void
test_regularizer(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	double square = 0;

	open_fixture(&r, &a, &e, DATA "variable W [3,2] regularizer=l2:0.5\n"
		 "step go x\n", 4);
	a.answer.examples = 2;
	compute_train(r.compute, 0, NULL);
	for (size_t i = 0; i < 6; i++)
		square += (double)r.w[0][i] * (double)r.w[0][i];
	named(fabs(compute_loss(r.compute) - 1 - 2 * .5 * square) < 1e-6,
	      "the penalty is weighted by the answer's examples");
	named(fabsf(compute_gradient(r.compute, 0)[0] - 2 - 2 * r.w[0][0]) <
	      1e-6f, "the penalty's slope is in the gradient");
	fixture_end(&r);
}

/* A layer and its view share a buffer: the gradients of both are added. */
static void
test_views(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;

	open_fixture(&r, &a, &e, DATA "e = embedding i dim=2\nv = flatten e\n"
		 "step go e v\n", 1);
	compute_train(r.compute, 0, NULL);
	named(all_are(&r, "e/embeddings",
		      compute_rows(r.compute, 0).count == 1 ? 8 : 4),
	      "the gradients of a layer and of its view are added");
	fixture_end(&r);
}

static void
test_failures(void)
{
	struct answerer a;
	struct externals e;
	struct model_fixture r;
	struct fail f = { 0 };

	open_fixture(&r, &a, &e, DATA VARIABLES "step go x\nmetric hits\n", 4);
	a.kind = FAIL_DATA;
	compute_train(r.compute, 0, NULL);
	ok(refused(&r, "model.ps:7: go: no such number"));
	a.kind = FAIL_PEER;
	compute_forward(r.compute);
	equals(compute_failure(r.compute)->kind, FAIL_PEER);
	a.kind = 0;
	a.answer.has_loss = false;
	compute_train(r.compute, 0, NULL);
	ok(refused(&r, "model.ps:7: go: the answer has no \"loss\""));
	a.answer.has_loss = true;
	a.answer.examples = 5;
	compute_train(r.compute, 0, NULL);
	ok(refused(&r, "model.ps:7: go: \"examples\":5, where 4 were sent"));
	a.answer.examples = 4;
	a.answer.metrics = 1;
	a.answer.metric[0] = (struct external_metric){ "f1", 6, 8 };
	compute_train(r.compute, 0, NULL);
	ok(refused(&r, "model.ps:7: go: \"metrics\": the model has no line "
		   "'metric f1'"));
	a.answer.metrics = 0;
	a.gives = NAN;
	compute_train(r.compute, 0, NULL);
	ok(refused(&r, "the gradient of W has infinite numbers or NaNs"
		   COMPUTE_ADVICE));
	a.gives = 0;
	a.answer.loss = (double)NAN;
	compute_train(r.compute, 0, NULL);
	ok(refused(&r, "the loss is not a number" COMPUTE_ADVICE));
	a.answer.loss = 1;
	compute_train(r.compute, 0, NULL);
	named_equals(compute_check(r.compute, &f), 0,
		     "a step after a failed one is accepted");
	compute_predict(r.compute);
	ok(compute_failure(r.compute)->kind == FAIL_CONFIG &&
	   is(compute_failure(r.compute)->text, "model.ps:7: go: it predicts "
	      "nothing: there is no predicts=SHAPE"));
	fixture_end(&r);
}

/* Is a model refused with this error, when these lines follow nine others? */
static bool
refuses(const char *lines, const char *why)
{
	char text[1024];
	struct model_file file = { (char *)(uintptr_t)"model.ps", text, 0 };
	const struct model_source source = { .file = &file, .count = 1 };
	struct model *m;
	struct fail f;

	snprintf(text, sizeof(text), DATA VARIABLES "d = dense x units=1\n"
		 "e = embedding i dim=2\n\n%s", lines);
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
	ok(refuses("step\n", "model.ps:10: a line like 'step NAME [INPUT...] "
		   "[KEY=VALUE]...' is expected"));
	ok(refuses("step go predicts=[4]\n", "model.ps:10: go: predicts=[4] "
		   "is of examples, and it takes no input"));
	ok(refuses("step x t\n", "model.ps:10: x is already defined at "
		   "model.ps:1"));
	ok(refuses("step go y\n", "model.ps:10: go: there is no input, label "
		   "or layer y"));
	ok(refuses("step go x t x\n", "model.ps:10: go: x comes twice"));
	ok(refuses("step go x t t\n", "model.ps:10: go: t comes twice"));
	ok(refuses("step go x variables=V\n", "model.ps:10: go: variables: "
		   "there is no line 'variable V SHAPE'"));
	ok(refuses("step go x variables=d/kernel\n", "model.ps:10: go: "
		   "variables: there is no line 'variable d/kernel SHAPE'"));
	ok(refuses("step go x variables=W\n", "model.ps:6: n: no step line "
		   "names it among its variables"));
	ok(refuses("step go x predicts=[]\n",
		   "model.ps:10: go: predicts=[] is not like [3,4]"));
	ok(refuses("step go x predicts=3x\n",
		   "model.ps:10: go: predicts=3x is not like [3,4]"));
	ok(refuses("step go x command=./y.py\n",
		   "model.ps:10: unknown setting command; there are "
		   "variables, reads, predicts"));
	ok(refuses("step go x variables=W reads=n,W\n", "model.ps:10: go: W "
		   "is among both its variables and what it reads"));
	ok(refuses("step go x reads=V\n", "model.ps:10: go: reads: there is "
		   "no line 'variable V SHAPE'"));
	ok(refuses("step go x\nstep go d\n", "model.ps:11: a second step "
		   "line of the name go; the first is at model.ps:10"));
	ok(refuses("step go x\nloss mean_squared_error d\n", "model.ps:11: a "
		   "loss and a step line, at model.ps:10: a step's program "
		   "has its own loss"));
	ok(refuses("loss mean_squared_error d\nstep go x\n", "model.ps:11: a "
		   "step line and a loss, at model.ps:10: a step's program "
		   "has its own loss"));
	ok(refuses("loss mean_squared_error d\n", "model.ps:6: n: "
		   "trainable=false is for what a step line's program "
		   "computes, and there is none"));
	ok(refuses("y = external x shape=[2] variables=W,n\nstep go y\n",
		   "model.ps:10: y: variables: n is not trainable, and only a "
		   "step line's program computes such"));
	ok(refuses("variable q [2] trainable=maybe\nstep go x\n",
		   "model.ps:10: trainable=maybe is not true or false"));
	ok(refuses("variable q [2] trainable=false regularizer=l2\n"
		   "step go x\n", "model.ps:10: q: what is not trained takes "
		   "no regularizer"));
	ok(refuses("step go x\nmetric hits d\n", "model.ps:11: hits: what a "
		   "step's program measures is of no layer"));
	ok(refuses("step go x\nmetric hits\nmetric hits\n", "model.ps:12: a "
		   "second metric hits; results tell them apart by name"));
	ok(refuses("step go x\nmetric hi/ts\n", "model.ps:11: 'hi/ts' is not a "
		   "name: it takes letters, digits, _ - . and at most 63 of "
		   "them"));
	ok(refuses("step go x\nmetric hits threshold=1\n", "model.ps:11: "
		   "unknown setting threshold"));
}

int
main(void)
{
	test_requests();
	test_ids();
	test_answer();
	test_lines();
	test_own_data();
	test_data_sets();
	test_regularizer();
	test_views();
	test_failures();
	test_refusals();
	return tap_done();
}
