/* A worker's share of an evaluation, batch by batch. */
#include "worker/evaluate.h"

#include "wire/result.h"

#include "served.h"

#include <math.h>

#define COORDINATOR	1

static const char model[] =
	"input x float[2]\nlabel y binary\np = dense x units=1\n"
	"q = sigmoid p\nloss binary_crossentropy q\nmetric accuracy q\n"
	"metric auc q\noptimizer sgd\n";

static struct evaluate *e;
static struct batch batch;
static struct fail unfit, f;
static enum fail_kind breaks;	/* error of the layer's program */
static uint64_t cut = WIRE_NONE;

static int
begin_externals(void *own, const struct model *m, struct fail *why)
{
	(void)own, (void)m, (void)why;
	return 0;
}

static int
call(void *own, const struct external_call *c, struct fail *why)
{
	(void)own;
	for (size_t i = 0; i < c->wanteds; i++)
		memset(c->wanted[i].at, 0, external_size(&c->wanted[i]) *
		       sizeof(float));
	return breaks ? fail(why, breaks, "it is broken") : 0;
}

/* A program that answers when the test lets it. */
static const struct external_call *asked;
static size_t asks;
static bool answer;

static void
ask(void *own, const struct external_call *c)
{
	(void)own;
	asked = c;
	asks++;
}

static bool
answered(void *own, const struct external_call *c)
{
	(void)own;
	return answer && asked == c;
}

static const struct externals at_once = { .begin = begin_externals,
					  .call = call };
static const struct externals later = { .begin = begin_externals,
					.ask = ask, .answered = answered,
					.take = call };
static const struct externals *externals = &at_once;

static void
begin(const char *text)
{
	size_t inputs;
	const struct input *input;

	served_begin(text);
	input = model_inputs(fixture.model, &inputs);
	batch_begin(&batch, input, inputs, model_label(fixture.model));
	plan.term = 5;
	e = evaluate_new(&(struct evaluate_options){
		.model = fixture.model, .plan = &plan, .client = client,
		.externals = externals, .failure = &unfit, .outbox = &post,
		.peer = COORDINATOR });
}

static void
end(void)
{
	evaluate_free(e);
	batch_release(&batch);
	served_end();
}

static int
take(uint64_t request, uint64_t shards, uint64_t size, uint32_t count,
     const char *name)
{
	struct message m = { .kind = MESSAGE_EVALUATE, .request = request,
			     .frames = 1 };
	struct pack p = { 0 };
	int status;

	m.evaluate.shard = 1;
	m.evaluate.shards = shards;
	m.evaluate.batch = size;
	m.evaluate.cut = cut;
	pack_array(&p, count);
	if (name)
		pack_text(&p, name);
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	status = evaluate_take(e, &m, &f);
	pack_release(&p);
	return status;
}

/* Scores the next batch, with these values from the server. */
static bool
score(size_t examples, float value)
{
	fill_batch(&batch, examples);
	evaluate_batch(e, &batch, 0);
	if (client_idle(client) || evaluate_wants(e) ||
	    evaluate_can_compute(e))
		return false;
	for (size_t i = 0; i < plan.parts; i++)
		if (!says(SERVER, MESSAGE_PULL) ||
		    last_posted->m.pull.cut != cut || !serve(value))
			return false;
	evaluate_pull(e, 0);
	return evaluate_can_compute(e) && silent();
}

static void
malformed(void)
{
	named(!evaluate_job(e) && !evaluate_wants(e) &&
	      !evaluate_can_compute(e), "a new evaluator has nothing to do");
	evaluate_batch(e, NULL, 0);
	fill_batch(&batch, 1);
	evaluate_batch(e, &batch, 0);
	named(silent() && batch.examples == 1,
	      "a batch without an evaluation is not taken");
	ok(take(1, 0, 4, 0, NULL) < 0 && f.kind == FAIL_PROTOCOL);
	ok(take(1, 2, 0, 0, NULL) < 0);
	ok(take(1, 2, 4, 9, NULL) < 0);
	ok(take(1, 2, 4, 2, "a") < 0);
	ok(take(1, 2, 4, 0, "a") < 0);
	evaluate_drop(e);
	ok(!evaluate_job(e) && silent());
}

static void
scored(void)
{
	const struct worker_evaluation *job;
	struct result r;
	struct unpack u;
	uint64_t number;

	equals(take(8, 3, 4, 1, "a.tsv"), 0);
	job = evaluate_job(e);
	ok(job && job->count == 1 && strcmp(job->file[0], "a.tsv") == 0 &&
	   job->shard == 1 && job->shards == 3 && job->batch == 4);
	number = job->number;
	ok(evaluate_wants(e) && score(3, 0.5f));
	ok(evaluate_compute(e, &f) == 0 && evaluate_wants(e));
	ok(score(2, 0) && evaluate_compute(e, &f) == 0);
	evaluate_batch(e, NULL, 0);
	named(says(COORDINATOR, MESSAGE_EVALUATED) &&
	      last_posted->m.request == 8 &&
	      last_posted->m.done.term == 5 && last_posted->m.done.count == 1 &&
	      last_posted->m.frames == 3 &&
	      last_posted->m.frame[1].size == 5 * sizeof(float) &&
	      last_posted->m.frame[2].size == 5,
	      "five examples give five scores and labels");
	u = unpack_from(last_posted->text, sizeof(last_posted->text));
	ok(result_read(&u, &r, 2) && r.examples == 5 && r.scores == 5);
	/* x w + b is 1.5, three times, and 0; each label is 1. */
	ok(fabs(r.loss - 3 * log1p(exp(-1.5)) - 2 * log(2)) < 1e-5);
	named(r.sum[0][0] > 2.5 && r.sum[0][0] < 3.5,
	      "three of the five examples count as correct");
	named(!evaluate_job(e) && silent(),
	      "the evaluation is over when its result is sent");
	ok(take(9, 3, 4, 0, NULL) == 0 && evaluate_job(e)->count == 0 &&
	   evaluate_job(e)->number != number);
	evaluate_batch(e, NULL, 0);
	ok(says(COORDINATOR, MESSAGE_EVALUATED));
	u = unpack_from(last_posted->text, sizeof(last_posted->text));
	named(result_read(&u, &r, 2) && r.examples == 0 && r.scores == 0,
	      "an evaluation without data has nothing of the one before");
}

static void
failures(void)
{
	ok(take(10, 3, 4, 1, "a.tsv") == 0 && score(1, 0));
	equals(take(11, 3, 4, 1, "b.tsv"), 0);
	named(!evaluate_can_compute(e) && evaluate_wants(e) && silent(),
	      "a new evaluation replaces the one before");
	fail(&f, FAIL_DATA, "b.tsv:3: no label");
	evaluate_failed(e, &f);
	ok(says(COORDINATOR, MESSAGE_REFUSED) &&
	   last_posted->m.request == 11 &&
	   last_posted->m.refused.status == FAIL_DATA &&
	   strcmp(last_posted->text, "b.tsv:3: no label") == 0);
	ok(!evaluate_job(e));
	equals(take(12, 3, 4, 1, "a.tsv"), 0);
	fail(&unfit, FAIL_CONFIG, "no such program");
	fill_batch(&batch, 1);
	evaluate_batch(e, &batch, 0);
	named(says(COORDINATOR, MESSAGE_REFUSED) &&
	      strcmp(last_posted->text, "no such program") == 0 && silent() &&
	      !evaluate_job(e),
	      "a worker whose programs do not fit the model refuses the "
	      "evaluation");
	unfit.kind = 0;
}

/* Scores the values of a cut, which the server may drop before the end. */
static void
by_a_cut(void)
{
	struct message gone;

	cut = 9;
	ok(take(20, 3, 4, 1, "a.tsv") == 0 && score(3, 0.5f));
	equals(evaluate_compute(e, &f), 0);
	fill_batch(&batch, 1);
	evaluate_batch(e, &batch, 0);
	ok(says(SERVER, MESSAGE_PULL) && last_posted->m.pull.cut == 9);
	gone = message_refuse(&last_posted->m, FAIL_AGAIN, "not held");
	post_clear();
	gone.request -= 1000;
	equals(client_receive(client, SERVER, &gone, 0, &f), 0);
	named(!client_idle(client), "a refusal of an older pull is ignored");
	gone.request += 1000;
	equals(client_receive(client, SERVER, &gone, 0, &f), 0);
	evaluate_pull(e, 0);
	named(says(COORDINATOR, MESSAGE_REFUSED) &&
	      last_posted->m.request == 20 &&
	      last_posted->m.refused.status == FAIL_AGAIN &&
	      !evaluate_job(e),
	      "a lost cut ends the evaluation and not the worker");
	cut = WIRE_NONE;
	ok(take(21, 3, 4, 1, "a.tsv") == 0 && score(3, 0.5f));
	evaluate_drop(e);
}

/* Values arrive for a batch of an evaluation that was dropped. */
static void
late(void)
{
	equals(take(22, 3, 4, 1, "a.tsv"), 0);
	fill_batch(&batch, 3);
	evaluate_batch(e, &batch, 0);
	equals(take(23, 3, 4, 1, "b.tsv"), 0);
	named(!evaluate_wants(e),
	      "the next batch waits for the values of the dropped evaluation");
	while (!client_idle(client))
		if (!says(SERVER, MESSAGE_PULL) || !serve(1))
			break;
	evaluate_pull(e, 0);
	ok(evaluate_wants(e) && score(2, 0) && silent());
	evaluate_drop(e);
}

/* A program of the user computes a layer, and fails. */
static void
broken_layer(void)
{
	ok(take(13, 1, 4, 1, "a.tsv") == 0 && score(1, 0));
	breaks = FAIL_DATA;
	equals(evaluate_compute(e, &f), 0);
	named(says(COORDINATOR, MESSAGE_REFUSED) && !evaluate_job(e) &&
	      strstr(last_posted->text, "it is broken") != NULL,
	      "a batch that cannot be computed ends the evaluation");
	ok(take(14, 1, 4, 1, "a.tsv") == 0 && score(1, 0));
	breaks = FAIL_PEER;
	named(evaluate_compute(e, &f) < 0 && f.kind == FAIL_PEER && silent(),
	      "a program that is gone ends the worker");
	breaks = 0;
}

/* The evaluation waits for the program of a layer. */
static void
layer_waits(void)
{
	ok(take(15, 1, 4, 1, "a.tsv") == 0 && score(1, 0));
	named(evaluate_compute(e, &f) == 0 && asks == 1 &&
	      evaluate_is_computing(e) && !evaluate_can_compute(e) &&
	      !evaluate_wants(e), "a batch waits for its layer's program");
	answer = true;
	ok(evaluate_can_compute(e) && evaluate_compute(e, &f) == 0);
	ok(!evaluate_is_computing(e) && evaluate_wants(e));
	answer = false;
	ok(score(1, 0) && evaluate_compute(e, &f) == 0 && asks == 2);
	equals(take(16, 1, 4, 1, "b.tsv"), 0);
	named(evaluate_job(e) && !evaluate_wants(e) &&
	      !evaluate_can_compute(e),
	      "the batch of a dropped evaluation is awaited before another is "
	      "read");
	answer = true;
	ok(evaluate_can_compute(e) && evaluate_compute(e, &f) == 0 &&
	   evaluate_wants(e) && silent());
	ok(score(3, 0) && evaluate_compute(e, &f) == 0);
	evaluate_batch(e, NULL, 0);
	ok(says(COORDINATOR, MESSAGE_EVALUATED));

	struct unpack u = unpack_from(last_posted->text,
				      sizeof(last_posted->text));
	struct result r;

	named(result_read(&u, &r, 0) && r.examples == 3,
	      "the batch of a dropped evaluation does not count");
	ok(take(17, 1, 4, 1, "a.tsv") == 0 && score(1, 0));
	answer = false;
	ok(evaluate_compute(e, &f) == 0);
	evaluate_drop(e);
	answer = true;
	breaks = FAIL_PEER;
	named(evaluate_compute(e, &f) < 0 && f.kind == FAIL_PEER,
	      "a program that ends during a dropped evaluation ends the "
	      "worker");
	breaks = 0;
	ok(take(18, 1, 4, 1, "a.tsv") == 0 && score(1, 0));
	answer = false;
	ok(evaluate_compute(e, &f) == 0);
}

int
main(void)
{
	static const char layer_model[] = "input x float[2]\nlabel y float\n"
		"h = external x shape=[1]\np = dense h units=1\n"
		"loss mean_squared_error p\noptimizer sgd\n";

	begin(model);
	malformed();
	scored();
	failures();
	by_a_cut();
	late();
	end();
	begin(layer_model);
	broken_layer();
	end();
	externals = &later;
	begin(layer_model);
	layer_waits();
	end();
	return tap_done();
}
