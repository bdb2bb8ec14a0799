/* A worker's steps: each is pulled for, computed and pushed, in order. */
#include "worker/pipeline.h"

#include "code_all.h"
#include "served.h"

#include <float.h>

#define COORDINATOR	1
#define BATCH		2

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd learning_rate=0.1\n";
static const char external_model[] =
	"input x float[2]\nlabel y float\nh = external x shape=[1]\n"
	"p = dense h units=1\nloss mean_squared_error p\noptimizer sgd\n";
static const char layer_model[] =
	"input x float[2]\nlabel y float\nvariable W [2]\n"
	"h = external x shape=[1] variables=W\n"
	"p = dense h units=1\nloss mean_squared_error p\noptimizer sgd\n";
static const char step_model[] =
	"input x float[2]\nlabel y float\nvariable W [2]\nstep fit x y\n"
	"optimizer sgd learning_rate=0.1\n";

static const char own_model[] =
	"variable W [2]\nstep draw\noptimizer sgd learning_rate=0.1\n";

static struct pipeline *p;
static struct leases *leases;
static struct batches *batches;
static struct batch batch;
static struct fail unfit, f;
static enum fail_kind breaks;	/* error of the layer's program */

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

/* A program of steps or of a layer: its calls, and the number answered. */
static const struct external_call *asks[8];
static size_t asked, answers, taken;
static bool no_more;		/* it has no more data of its own */

static void
ask(void *own, const struct external_call *c)
{
	(void)own;
	asks[asked++ % 8] = c;
}

static bool
answered(void *own, const struct external_call *c)
{
	(void)own;
	return answers > taken && asks[taken % 8] == c;
}

static int
take_answer(void *own, const struct external_call *c, struct fail *why)
{
	ok(answered(own, c));
	taken++;
	if (c->answer) {
		c->answer->has_loss = true;
		c->answer->loss = (double)c->step;
		c->answer->ended = no_more;
	}
	return call(own, c, why);
}

static const struct externals externals = { NULL, begin_externals, call,
					    ask, answered, take_answer };

static uint64_t served_batches = 1;	/* batches of a step */

static void
begin_with(const char *text, uint64_t prefetch, const struct codec *codec)
{
	size_t inputs;
	const struct input *input;

	served_begin(text);
	code_all(&plan, fixture.model, codec);
	plan.term = 5;
	plan.batches = served_batches;
	input = model_inputs(fixture.model, &inputs);
	batch_begin(&batch, input, inputs, model_label(fixture.model));
	leases = leases_new(&post, COORDINATOR);
	leases_begin_term(leases, 5);
	batches = batches_new();
	batches_begin(batches, input, inputs, model_label(fixture.model));
	p = pipeline_new(&(struct pipeline_options){
		.model = fixture.model, .plan = &plan, .client = client,
		.leases = leases, .batches = batches,
		.externals = &externals, .failure = &unfit,
		.prefetch = prefetch });
}

static void
begin(void)
{
	begin_with(model, 0, &codec_float32);
}

static void
end(void)
{
	named(silent(), "the worker sends no other message");
	pipeline_free(p);
	batches_free(batches);
	leases_free(leases);
	batch_release(&batch);
	served_end();
}

static void
check(void)
{
	const char *broken = pipeline_check(p);

	if (broken)
		named(false, broken);
}

static struct message
lease_of(uint64_t id, uint64_t first, uint64_t count, uint64_t size)
{
	struct message m = { .kind = MESSAGE_LEASE, .request = id };

	m.lease.term = 5;
	m.lease.first = first;
	m.lease.count = count;
	m.lease.batch = size;
	m.lease.attempt = 1;
	m.lease.server = WIRE_NONE;
	return m;
}

static void
take(const struct message *m)
{
	if (!leases_take(leases, m, false))
		named(false, "the lease is accepted");
	check();
}

static void
lease(uint64_t id, uint64_t first, uint64_t count)
{
	const struct message m = lease_of(id, first, count, BATCH);

	take(&m);
}

/* Takes a lease of one step of this size. */
static void
take_lease_of(uint64_t id, uint64_t step, uint64_t size)
{
	const struct message m = lease_of(id, step, 1, size);

	take(&m);
}

/* Takes a lease of replica 1 of 2 of a step. */
static void
replica(uint64_t id, uint64_t step)
{
	struct message m = lease_of(id, step, 1, BATCH);

	m.lease.slot = 1;
	m.lease.slots = 2;
	take(&m);
}

static void
announce(uint64_t id, uint64_t first, uint64_t pass)
{
	struct message m = lease_of(id, first, 1, BATCH);

	m.lease.more = 1;
	m.lease.pass = pass;
	take(&m);
}

static void
advance(void)
{
	pipeline_advance(p, 100, 100000);
	check();
}

/* Reads the wanted batch. */
static bool
read_batch(uint64_t examples)
{
	if (pipeline_want(p) != examples)
		return false;
	fill_batch(&batch, examples);
	pipeline_put(p, &batch);
	advance();
	return true;
}

/* Is every part sent to the server in this kind of message?  Answers it. */
static bool
serves_with(enum message_kind kind, float value, enum outcome outcome)
{
	bool good = true;

	for (size_t i = 0; i < plan.parts; i++)
		good = says(SERVER, kind) &&
			serve_with(value, outcome, &f) == 0 && good;
	advance();
	return good;
}

static bool
serves(enum message_kind kind)
{
	return serves_with(kind, 0.5f, OUTCOME_APPLIED);
}

static bool
computes(void)
{
	if (!pipeline_can_compute(p) || pipeline_compute(p, &f) < 0)
		return false;
	check();
	advance();
	return true;
}

static bool
reports(enum message_kind kind, uint64_t id)
{
	leases_settle(leases);
	check();
	return says(COORDINATOR, kind) && last_posted->m.request == id;
}

/* Returns the result in DONE. */
static struct result
reported(void)
{
	struct unpack u = unpack_from(last_posted->text,
				      sizeof(last_posted->text));
	struct result r = { 0 };

	ok(result_read(&u, &r, 0));
	return r;
}

static void
steps(void)
{
	uint64_t count, examples;
	struct result r;

	begin();
	ok(pipeline_want(p) == 0 && client_idle(client) &&
	   pipeline_is_over(p) && !pipeline_can_compute(p));
	lease(1, 7, 2);
	named(read_batch(BATCH) && pipeline_want(p) == BATCH,
	      "a step takes the batch, and the next batch is wanted");
	ok(!pipeline_is_over(p) && !client_idle(client));
	ok(serves(MESSAGE_PULL) && read_batch(BATCH));
	named(silent(),
	      "a pulled step is computed before the next is pulled for");
	ok(computes());
	named(serves(MESSAGE_PUSHPULL) && last_posted->m.push.step == 7 &&
	      last_posted->m.push.examples == BATCH,
	      "the push of a step pulls for the next");
	ok(computes() && serves_with(MESSAGE_PUSH, 0, OUTCOME_DUP));
	ok(reports(MESSAGE_DONE, 1) && last_posted->m.done.count == 2);
	r = reported();
	/* x w + b is 1.5, and y is 1. */
	ok(r.step == 7 && r.examples == BATCH && !r.voided && !r.mixed &&
	   r.loss > 0.25 * BATCH - 1e-5 && r.loss < 0.25 * BATCH + 1e-5);
	pipeline_count(p, &count, &examples);
	ok(count == 2 && examples == 2 * BATCH);
	ok(client_idle(client) && pipeline_is_over(p));
	end();
}

/* Begins with two steps that a program computes, the second one ahead. */
static void
begin_asked(void)
{
	asked = answers = taken = 0;
	begin_with(step_model, 1, &codec_float32);
	lease(1, 7, 3);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && read_batch(BATCH) &&
	   computes() && asked == 1);
	ok(serves(MESSAGE_PULL) && read_batch(BATCH) && computes());
}

static void
asked_ahead(void)
{
	begin_asked();
	named(asked == 2 && !pipeline_can_compute(p) && silent(),
	      "a program that computes one step is asked for the next");
	answers++;
	named(computes() && serves(MESSAGE_PUSHPULL) &&
	      last_posted->m.push.step == 7,
	      "the answered step is pushed, in one message with the next "
	      "pull");
	ok(pipeline_asks(p) && computes() && asked == 3);
	ok(!pipeline_can_compute(p));
	answers++;
	ok(computes() && serves(MESSAGE_PUSH));
	answers++;
	ok(computes() && serves(MESSAGE_PUSH) && !pipeline_asks(p));
	named(reports(MESSAGE_DONE, 1) && last_posted->m.done.count == 3 &&
	      reported().loss == 7 * BATCH,
	      "each step gets the answer to its own request");
	end();

	asked = answers = taken = 0;
	begin_with(step_model, 0, &codec_float32);
	lease(1, 7, 2);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && read_batch(BATCH));
	ok(computes() && asked == 1);
	named(silent() && !pipeline_can_compute(p),
	      "without prefetch nothing is pulled while the program computes");
	answers++;
	ok(computes() && serves(MESSAGE_PUSHPULL));
	end();
}

static void
asked_in_vain(void)
{
	begin_asked();
	leases_cancel(leases, 7, 3, 0);
	leases_send_cancelled(leases);
	advance();
	leases_settle(leases);
	ok(!pipeline_can_compute(p) && silent());
	answers++;
	ok(computes());
	leases_settle(leases);
	ok(silent() && !pipeline_can_compute(p));
	answers++;
	ok(computes());
	leases_settle(leases);
	named(says(COORDINATOR, MESSAGE_OK) && silent() &&
	      !pipeline_asks(p),
	      "cancelled steps are dropped when the program has answered for "
	      "them");
	end();

	begin_asked();
	answers++;
	leases_begin_term(leases, 6);
	pipeline_begin_term(p);
	check();
	ok(pipeline_is_over(p) && pipeline_asks(p));
	batches_assign(batches, BATCHES_NO_LEASE);
	batches_begin_term(batches);
	lease(2, 9, 2);
	advance();
	ok(serves(MESSAGE_PULL) && read_batch(BATCH));
	named(computes() && serves(MESSAGE_PULL) && taken == 1,
	      "an answer for a step of an earlier term is dropped");
	ok(computes() && asked == 3 && !pipeline_can_compute(p));
	answers = 2;
	ok(computes() && taken == 2 && silent() && computes() && asked == 4);
	answers = 4;
	named(computes() && serves(MESSAGE_PUSH) && computes() &&
	      serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 2),
	      "the steps of the new term are pushed");
	end();
}

/* A program reports the end of its data once, in any term. */
static void
asked_for_no_more(void)
{
	const struct fail *why;

	asked = answers = taken = 0;
	begin_with(own_model, 1, &codec_float32);
	lease(1, 7, 2);
	advance();
	ok(serves(MESSAGE_PULL) && computes() && asked == 1);
	no_more = true;
	answers++;
	ok(computes() && !batches_ended(batches, &why));
	leases_begin_term(leases, 6);
	pipeline_begin_term(p);
	check();
	named(batches_ended(batches, &why) && serves(MESSAGE_PULL) &&
	      !pipeline_can_compute(p),
	      "a program that has reported its end is not asked in a new "
	      "term");
	no_more = false;
	end();
}

/* A step that fails before its program is called fails in its turn. */
static void
asked_before_one_that_fails(void)
{
	struct message m = lease_of(2, 8, 1, BATCH);
	struct pack call = { 0 };

	asked = answers = taken = 0;
	begin_with(step_model, 1, &codec_float32);
	lease(1, 7, 1);
	pack_array(&call, 2);
	pack_blob(&call, "other", 5);
	pack_blob(&call, "{}", 2);
	m.frame[m.frames++] = (struct frame){ call.data, call.size, NULL };
	m.lease.call = 1;
	take(&m);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && read_batch(BATCH) &&
	   computes() && serves(MESSAGE_PULL));
	ok(computes() && asked == 1 && silent() && !pipeline_can_compute(p));
	answers++;
	ok(computes() && serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 1));
	ok(computes());
	named(reports(MESSAGE_FAILED, 2) &&
	      strstr(last_posted->text, "the model has no step line other"),
	      "a step that fails before its program is asked is reported in "
	      "its turn");
	pack_release(&call);
	end();
}

static void
mixed(void)
{
	begin();
	lease(1, 7, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes() &&
	   serves_with(MESSAGE_PUSH, 0, OUTCOME_DUP));
	ok(reports(MESSAGE_DONE, 1));
	named(reported().mixed && !reported().voided,
	      "a step that a server had already is reported as mixed");
	end();
}

static void
voided(void)
{
	begin();
	lease(1, 7, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes() &&
	   serves_with(MESSAGE_PUSH, 0, OUTCOME_VOID));
	ok(reports(MESSAGE_DONE, 1) && reported().voided);
	end();
}

static void
cancelled(void)
{
	begin();
	lease(1, 7, 2);
	ok(read_batch(BATCH));
	leases_cancel(leases, 7, 2, 0);
	leases_send_cancelled(leases);
	advance();
	named(!pipeline_can_compute(p) && serves(MESSAGE_PULL) &&
	      !pipeline_can_compute(p) && pipeline_is_over(p),
	      "a cancelled step is dropped when its values have arrived");
	leases_settle(leases);
	ok(says(COORDINATOR, MESSAGE_OK) && silent());
	lease(2, 9, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL));
	ok(pipeline_can_compute(p));
	leases_cancel(leases, 9, 1, 0);
	ok(!pipeline_can_compute(p));
	advance();
	ok(pipeline_is_over(p));
	lease(3, 10, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes());
	leases_cancel(leases, 10, 1, 0);
	advance();
	named(serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 3),
	      "a cancelled step that is being pushed is done");
	end();
}

static void
terms(void)
{
	begin();
	lease(1, 7, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL));
	leases_begin_term(leases, 6);
	pipeline_begin_term(p);
	check();
	ok(!pipeline_can_compute(p) && pipeline_is_over(p));
	lease(2, 7, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes() &&
	   serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 2));
	end();
}

/* The lease has announced more steps like the last one, so the worker
   prefetches. */
static void
prefetched(void)
{
	begin();
	announce(1, 7, 0);
	ok(read_batch(BATCH) && pipeline_prefetched(p) == 0);
	ok(serves(MESSAGE_PULL) && read_batch(BATCH) && computes());
	named(says(SERVER, MESSAGE_PUSHPULL) && pipeline_prefetched(p) == 1,
	      "a step without a lease is prefetched");
	ok(serve(0.5f));
	for (size_t i = 1; i < plan.parts; i++)
		ok(says(SERVER, MESSAGE_PUSHPULL) && serve(0.5f));
	advance();
	ok(reports(MESSAGE_DONE, 1) && !pipeline_can_compute(p));
	announce(2, 8, 0);
	advance();
	named(silent() && pipeline_prefetched(p) == 0 &&
	      pipeline_can_compute(p),
	      "the prefetched step is ready when its lease comes");
	ok(read_batch(BATCH) && computes() && serves(MESSAGE_PUSHPULL) &&
	   reports(MESSAGE_DONE, 2));
	announce(3, 9, 1);
	advance();
	named(!pipeline_can_compute(p) && serves(MESSAGE_PULL) &&
	      pipeline_can_compute(p),
	      "a step prefetched before a barrier is pulled for again");
	ok(read_batch(BATCH) && computes() && serves(MESSAGE_PUSHPULL) &&
	   reports(MESSAGE_DONE, 3));
	pipeline_expire(p);
	announce(4, 10, 1);
	advance();
	ok(!pipeline_can_compute(p) && serves(MESSAGE_PULL) &&
	   pipeline_can_compute(p) && pipeline_prefetched(p) == 0);
	end();
}

/* The prefetched batch has another size than the next step. */
static void
misread(void)
{
	struct message other = lease_of(2, 8, 1, BATCH + 1);
	struct batch back;
	size_t inputs;
	const struct input *input;

	begin();
	input = model_inputs(fixture.model, &inputs);
	batch_begin(&back, input, inputs, model_label(fixture.model));
	announce(1, 7, 0);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && read_batch(BATCH) &&
	   computes() && serves(MESSAGE_PUSHPULL) &&
	   reports(MESSAGE_DONE, 1));
	ok(pipeline_prefetched(p) == 1 && read_batch(BATCH));
	take(&other);
	advance();
	named(pipeline_put_back(p, &back) && back.examples == BATCH,
	      "the batch that was read last goes back first");
	named(pipeline_put_back(p, &back) && back.examples == BATCH &&
	      pipeline_prefetched(p) == 0,
	      "the batch of the prefetched step goes back next");
	ok(!pipeline_put_back(p, &back));
	ok(read_batch(BATCH + 1) && serves(MESSAGE_PULL) && computes() &&
	   serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 2));
	batch_release(&back);
	end();
}

/* With prefetch the worker pulls early for one more step. */
static void
early(void)
{
	begin_with(model, 1, &codec_float32);
	lease(1, 7, 3);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL));
	ok(read_batch(BATCH));
	named(serves(MESSAGE_PULL),
	      "with prefetch a second step is pulled for while one is ready");
	ok(read_batch(BATCH) && silent());
	ok(computes() && serves(MESSAGE_PUSHPULL));
	ok(computes() && serves(MESSAGE_PUSH) && computes() &&
	   serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 1) &&
	   last_posted->m.done.count == 3);
	end();
}

static void
rounds(void)
{
	begin();
	replica(1, 5);
	ok(read_batch(BATCH));
	named(says(SERVER, MESSAGE_PULL) && last_posted->m.pull.after == 5,
	      "a replica asks for the values after the round before");
	named(pipeline_is_over(p),
	      "a worker that waits for a round can take a new plan");
	post_clear();
	replica(2, 4);
	ok(read_batch(BATCH));
	named(says(SERVER, MESSAGE_PULL) && last_posted->m.pull.after == 4,
	      "a waiting replica gives way to one of an earlier round");
	post_first--;
	ok(serves(MESSAGE_PULL) && computes());
	named(serves(MESSAGE_PUSH) && last_posted->m.push.step == 4 &&
	      last_posted->m.push.slot == 1 &&
	      last_posted->m.push.attempt == 1 && reports(MESSAGE_DONE, 2),
	      "the push of a replica pulls nothing");
	ok(serves(MESSAGE_PULL) && last_posted->m.pull.after == 5 &&
	   computes() && serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 1));
	end();
}

/* A replica is given up while it waits for its round. */
static void
round_cancelled(void)
{
	begin();
	replica(1, 5);
	ok(read_batch(BATCH) && says(SERVER, MESSAGE_PULL));
	post_clear();
	leases_cancel(leases, 5, 1, 1);
	advance();
	named(reports(MESSAGE_DONE, 1) && last_posted->m.done.count == 0 &&
	      client_idle(client),
	      "a cancelled replica stops waiting, and is given back");
	end();
}

/* The batch of a dropped lease goes to the next step. */
static void
passed_on(void)
{
	begin();
	replica(1, 5);
	fill_batch(&batch, pipeline_want(p));
	pipeline_put(p, &batch);
	leases_cancel(leases, 5, 1, 1);
	ok(reports(MESSAGE_DONE, 1));
	replica(2, 6);
	equals(pipeline_want(p), 0);
	advance();
	named(serves(MESSAGE_PULL) && last_posted->m.pull.after == 6,
	      "the batch of a cancelled replica goes to the next one");
	post_clear();
	end();
}

/* Does the step fail with this reason, and the worker continue? */
static bool
fails(uint64_t id, const char *why)
{
	advance();
	if (reports(MESSAGE_FAILED, id) &&
	    strstr(last_posted->text, why))
		return true;
	tap_differ(last_posted->text, why);
	return false;
}

static void
unfit_steps(void)
{
	begin();
	lease(1, 7, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL));
	fail(&unfit, FAIL_CONFIG, "no such program");
	ok(computes());
	named(fails(1, "step 7: no such program") &&
	      last_posted->m.failed.step == 7 &&
	      last_posted->m.failed.status == FAIL_CONFIG,
	      "a worker whose programs do not fit the model fails the step");
	unfit.kind = 0;
	end();
}

static void
infinite(void)
{
	begin_with(model, 0, &codec_bfloat16);
	lease(1, 7, 1);
	ok(read_batch(BATCH));
	ok(says(SERVER, MESSAGE_PULL) &&
	   last_posted->m.pull.coded == 8);
	post_first--;
	ok(serves_with(MESSAGE_PULL, FLT_MAX, OUTCOME_NONE) && computes());
	ok(fails(1, "infinite, or too large for bfloat16"));
	/* The gradient of w is 8 w x x. */
	fill_value = 9.2188e18f;
	lease(2, 8, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes());
	ok(fails(2, "gradient of p/kernel is too large for bfloat16"));
	fill_value = 1;
	end();
}

/* A finite gradient may be too large for the sum with others. */
static void
too_large(void)
{
	begin();
	fill_value = 9.2188e18f;
	lease(1, 5, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes() &&
	   serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 1));
	replica(2, 6);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes());
	ok(fails(2, "step 6: the gradient of p/kernel is too large for a sum "
		 "over 2 replicas"));
	fill_value = 1;
	end();
}

/* Computes, while the program of the layer answers its last call. */
static bool
computes_on(void)
{
	answers++;
	return computes();
}

static void
begin_layer(uint64_t batches_of)
{
	asked = answers = taken = 0;
	served_batches = batches_of;
	begin_with(layer_model, 0, &codec_float32);
	served_batches = 1;
}

/* The program of a layer is called forward and backward, and the worker waits
   in between. */
static void
layer_waits(void)
{
	begin_layer(1);
	lease(1, 7, 2);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && read_batch(BATCH));
	named(computes() && asked == 1 && pipeline_asks(p) &&
	      !pipeline_can_compute(p) && silent(),
	      "a step waits for its layer's program");
	named(computes_on() && asked == 2 && !pipeline_can_compute(p),
	      "the step continues up to the next call of the program");
	named(computes_on() && serves(MESSAGE_PUSHPULL) &&
	      last_posted->m.push.step == 7,
	      "the step is pushed when it is computed");
	ok(computes() && computes_on() && computes_on() && asked == 4);
	ok(serves(MESSAGE_PUSH) && reports(MESSAGE_DONE, 1) &&
	   last_posted->m.done.count == 2);
	end();
}

/* Four batches need eight calls; those of a step that was given up are not
   made. */
static void
layer_in_vain(void)
{
	begin_layer(4);
	take_lease_of(1, 7, 4 * BATCH);
	ok(read_batch(4 * BATCH) && serves(MESSAGE_PULL) && computes());
	ok(computes_on() && asked == 2);
	leases_cancel(leases, 7, 1, 0);
	leases_send_cancelled(leases);
	advance();
	leases_settle(leases);
	named(silent() && !pipeline_can_compute(p),
	      "a cancelled step waits for the answer of its program");
	ok(computes_on());
	leases_settle(leases);
	named(says(COORDINATOR, MESSAGE_OK) && silent() && asked == 2 &&
	      !pipeline_asks(p),
	      "the other calls of a cancelled step are not made");
	take_lease_of(2, 8, 4 * BATCH);
	ok(read_batch(4 * BATCH) && serves(MESSAGE_PULL) && computes() &&
	   asked == 3);
	pipeline_begin_term(p);
	leases_begin_term(leases, 6);
	advance();
	named(pipeline_asks(p) && !pipeline_can_compute(p),
	      "a step of an earlier term waits for the answer of its program");
	answers++;
	ok(pipeline_can_compute(p) && pipeline_compute(p, &f) == 0 &&
	   !pipeline_asks(p) && asked == 3);
	check();
	end();
}

/* The worker ends while the program of a layer computes. */
static void
layer_left(void)
{
	begin_layer(1);
	lease(1, 7, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL) && computes() &&
	   asked == 1);
	end();
}

static void
broken_layer(void)
{
	asked = answers = taken = 0;
	answers = 8;
	begin_with(external_model, 0, &codec_float32);
	lease(1, 7, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL));
	breaks = FAIL_DATA;
	ok(computes());
	ok(fails(1, "it is broken"));
	lease(2, 8, 1);
	ok(read_batch(BATCH) && serves(MESSAGE_PULL));
	breaks = FAIL_PEER;
	named(pipeline_compute(p, &f) < 0 && f.kind == FAIL_PEER,
	      "a program that is gone ends the worker");
	breaks = 0;
	end();
}

int
main(void)
{
	steps();
	mixed();
	asked_ahead();
	asked_in_vain();
	asked_for_no_more();
	asked_before_one_that_fails();
	voided();
	cancelled();
	terms();
	prefetched();
	misread();
	early();
	rounds();
	round_cancelled();
	passed_on();
	unfit_steps();
	infinite();
	too_large();
	layer_waits();
	layer_in_vain();
	layer_left();
	broken_layer();
	pipeline_free(NULL);
	return tap_done();
}
