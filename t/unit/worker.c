/* A worker with a coordinator and a server that the test plays: its answers,
   and the errors that end it. */
#include "worker/worker.h"

#include "data/block.h"
#include "wire/result.h"

#include "model_fixture.h"
#include "post.h"

#define COORDINATOR	(1000 + coordinator)	/* dialled as this */
#define SERVER		(1000 + post_dialled)
#define BATCH		2

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";
static const char external_model[] =
	"input x float[2]\nlabel y float\nh = external x shape=[1]\n"
	"p = dense h units=1\nloss mean_squared_error p\noptimizer sgd\n";

static struct model_fixture fixture;
static struct plan plan;
static struct pack model_frame, plan_frame;
static struct worker *w;
static struct batch batch;
static struct fail f;
static uint64_t now, coordinator;
static bool breaks;	/* the layer's program fails */

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
	return breaks ? fail(why, FAIL_PEER, "it is gone") : 0;
}

static const struct externals externals = { .begin = begin_externals,
					    .call = call };

static int
receive(uint64_t peer, const struct message *m)
{
	const int status = worker_receive(w, peer, m, now, 1000 * now, &f);
	const char *broken = worker_check(w);

	if (broken)
		named(false, broken);
	return status;
}

static int
tick(void)
{
	return worker_tick(w, now, &f);
}

static bool
fails(int status, enum fail_kind kind, const char *text)
{
	if (status < 0 && f.kind == kind && strstr(f.text, text))
		return true;
	tap_differ(status < 0 ? f.text : "no error", text);
	return false;
}

static void
begin(const char *text)
{
	char *endpoint[] = { (char *)(uintptr_t)"node:1" };
	struct place *place;
	size_t places;
	size_t inputs;
	const struct input *input;

	fixture_begin(&fixture, text);
	place = partition_plan(fixture.variable, fixture.variables,
			       &(struct partitioner){ .kind = PARTITION_NONE },
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 1);
	free(place);
	plan_write_model(&model_frame, &fixture.source);
	plan_write(&plan_frame, &plan);
	input = model_inputs(fixture.model, &inputs);
	batch_begin(&batch, input, inputs, model_label(fixture.model));
	now = 5000;
	post_deaf = 0;
	w = worker_new(&(struct worker_options){
		.coordinator = "node:0", .timeout_ms = 4000,
		.lease_ms = 1000, .life = 77, .index = WIRE_NONE,
		.externals = &externals }, &post, now, &f);
	coordinator = post_dialled;
	if (w)
		tick();
}

static void
end(void)
{
	worker_free(w);
	post_clear();
	batch_release(&batch);
	pack_release(&model_frame);
	pack_release(&plan_frame);
	plan_release(&plan);
	fixture_end(&fixture);
	model_frame = plan_frame = (struct pack){ 0 };
}

static void
comes_up(void)
{
	worker_up(w, COORDINATOR, now);
	ok(says(COORDINATOR, MESSAGE_HELLO) &&
	   last_posted->m.hello.role == ROLE_WORKER &&
	   last_posted->m.hello.life == 77);
}

static void
greeted(void)
{
	const struct message m = { .kind = MESSAGE_WELCOME };

	comes_up();
	equals(receive(COORDINATOR, &m), 0);
}

static struct message
plan_of(uint64_t term)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2,
			     .request = 4 };

	m.plan.plan = 1;
	m.plan.term = term;
	m.plan.seed = 9;
	m.plan.batches = 1;
	m.blob = (struct frame){ "a run, 16 bytes!", PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model_frame.data, model_frame.size,
				     NULL };
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	return m;
}

/* Brings the worker to the point where it has a plan and its server answers. */
static void
ready(void)
{
	struct message m = plan_of(2);

	equals(receive(COORDINATOR, &m), 0);
	worker_up(w, SERVER, now);
	m = (struct message){ .kind = MESSAGE_WELCOME };
	m.welcome.role = ROLE_SERVER;
	ok(says(SERVER, MESSAGE_HELLO) && receive(SERVER, &m) == 0);
	ok(says(COORDINATOR, MESSAGE_READY) && silent());
}

static struct message
lease_of(uint64_t id, uint64_t first, uint64_t count)
{
	struct message m = { .kind = MESSAGE_LEASE, .request = id };

	m.lease.term = 2;
	m.lease.first = first;
	m.lease.count = count;
	m.lease.batch = BATCH;
	m.lease.attempt = 1;
	m.lease.server = WIRE_NONE;
	return m;
}

static void
fill(void)
{
	batch_reset(&batch);
	for (size_t e = 0; e < BATCH; e++) {
		feature_add_value(&batch.feature[0], 2 * e, 1);
		feature_add_value(&batch.feature[0], 2 * e + 1, 1);
		feature_add_value(&batch.label, e, 1);
	}
	batch.examples = BATCH;
	batch.prepared = false;
}

/* The values of all pulled parts have arrived. */
static void
served(void)
{
	static const float zeros[64];
	struct message m;

	for (size_t i = 0; i < plan.parts; i++) {
		ok(says(SERVER, MESSAGE_PULL));
		m = message_answer(&last_posted->m, MESSAGE_VALUES);
		m.frames = 1;
		m.frame[0] = (struct frame){ zeros, sizeof(float) *
			plan_part_dense(&plan, last_posted->m.pull.part),
			NULL };
		equals(receive(SERVER, &m), 0);
	}
}

static void
without_coordinator(void)
{
	begin(model);
	ok(!worker_has_run(w) && !worker_model(w) && worker_want(w) == 0 &&
	   !worker_next(w) && !worker_evaluation(w) &&
	   !worker_evaluation_wants(w) && !worker_can_compute(w) &&
	   !worker_compute(w) && !worker_format(w));
	worker_heartbeat(w);
	named(silent(), "a worker without a coordinator sends no heartbeat");
	for (now = 5500; now < 9000; now += 500)
		if (tick() < 0)
			named(false, "the worker waits");
	ok(fails(tick(), FAIL_PEER, "coordinator node:0 does not answer "
		 "within 4 s"));
	end();
	post_cannot_dial = true;
	begin(model);
	ok(!w && fails(-1, FAIL_PEER, "cannot dial node:0"));
	w = NULL;
	end();
	post_cannot_dial = false;
}

static void
refusals(void)
{
	struct message m = message_refuse(
		&(struct message){ .request = 3 }, FAIL_AGAIN, "not now");

	begin(model);
	comes_up();
	named_equals(receive(COORDINATOR, &m), 0,
		     "a refusal ahead of WELCOME is ignored");
	m.request = WIRE_NONE;
	ok(fails(receive(COORDINATOR, &m), FAIL_AGAIN,
		 "coordinator node:0: not now"));
	m = plan_of(2);
	m.blob.size = 3;
	ok(fails(receive(COORDINATOR, &m), FAIL_PROTOCOL, "a plan without the "
		 "name of its run"));
	end();
}

static void
plans(void)
{
	struct message m = { .kind = MESSAGE_PING, .request = 8 };

	begin(model);
	greeted();
	ready();
	ok(worker_has_run(w) && worker_model(w) && worker_seed(w) == 9 &&
	   strcmp(worker_state(w), "0 steps, 0 examples") == 0);
	ok(receive(COORDINATOR, &m) == 0 && says(COORDINATOR, MESSAGE_PONG) &&
	   last_posted->m.request == 8);
	worker_heartbeat(w);
	ok(says(COORDINATOR, MESSAGE_PONG));
	m = plan_of(2);
	ok(receive(COORDINATOR, &m) == 0 && silent());
	m = plan_of(1);
	equals(receive(COORDINATOR, &m), 0);
	ok(says(COORDINATOR, MESSAGE_REFUSED) &&
	   strcmp(last_posted->text, "this term is over, another began") == 0);
	m = plan_of(3);
	equals(receive(COORDINATOR, &m), 0);
	named(says(COORDINATOR, MESSAGE_READY),
	      "a new term makes the worker report again that it is ready");
	post_clear();
	m = lease_of(1, 0, 1);
	ok(receive(COORDINATOR, &m) == 0 && worker_want(w) == 0);
	m.lease.term = 3;
	ok(receive(COORDINATOR, &m) == 0 && worker_want(w) == BATCH);
	worker_down(w, COORDINATOR, now);
	ok(!worker_has_run(w));
	now += 60000;
	named_equals(tick(), 0,
		     "a pause of the worker does not count as its peers' "
		     "absence");
	for (int i = 0; i < 8; i++, now += 500)
		tick();
	ok(fails(tick(), FAIL_PEER, "is gone and did not come back"));
	m = (struct message){ .kind = MESSAGE_STOP };
	ok(!worker_stopped(w) && receive(COORDINATOR, &m) == 0 &&
	   worker_stopped(w));
	end();
}

static void
malformed(void)
{
	struct message m = lease_of(1, 0, 0);

	begin(model);
	greeted();
	m.kind = MESSAGE_EVALUATE;
	ok(fails(receive(COORDINATOR, &m), FAIL_PROTOCOL,
		 "malformed EVALUATE"));
	ready();
	m.kind = MESSAGE_LEASE;
	ok(fails(receive(COORDINATOR, &m), FAIL_PROTOCOL,
		 "a malformed lease"));
	m = lease_of(1, 0, 1);
	m.frames = 1;
	named(fails(receive(COORDINATOR, &m), FAIL_PROTOCOL,
		    "a malformed lease"),
	      "a lease without data is refused in a run with data");
	m = (struct message){ .kind = MESSAGE_RESIDUAL };
	m.residual.term = 2;
	equals(receive(COORDINATOR, &m), 0);
	m.residual.how = PUSH_HOWS;
	named(fails(receive(COORDINATOR, &m), FAIL_PROTOCOL,
		    "malformed RESIDUAL"),
	      "a RESIDUAL with an unknown kind of push is refused");
	end();
	begin(model);
	greeted();
	m = plan_of(2);
	m.plan.batches = BATCH + 1;
	equals(receive(COORDINATOR, &m), 0);
	m = lease_of(1, 0, 1);
	named(fails(receive(COORDINATOR, &m), FAIL_PROTOCOL,
		    "a malformed lease"),
	      "a step with fewer examples than batches is refused");
	worker_up(w, COORDINATOR, now);
	m = (struct message){ .kind = MESSAGE_EVALUATE };
	named(receive(COORDINATOR, &m) == 0 && !worker_evaluation(w),
	      "a request ahead of WELCOME is ignored");
	end();
}

/* A server is silent: the coordinator decides whether to wait. */
static void
lost(void)
{
	struct message m;

	begin(model);
	greeted();
	ready();
	m = lease_of(1, 0, 1);
	equals(receive(COORDINATOR, &m), 0);
	fill();
	worker_batch(w, &batch, now, 1000 * now);
	ok(says(SERVER, MESSAGE_PULL));
	post_clear();
	m = (struct message){ .kind = MESSAGE_PONG };
	for (int i = 0; i < 8; i++, now += 500)
		if (receive(COORDINATOR, &m) < 0 || tick() < 0 || !silent())
			named(false, "the worker waits");
	ok(tick() == 0 && says(COORDINATOR, MESSAGE_LOST) &&
	   last_posted->m.lost.server == 0 && last_posted->m.lost.term == 2);
	ok(strstr(last_posted->text, "server 0 (node:1) is silent"));
	m = message_answer(&last_posted->m, MESSAGE_OK);
	ok(receive(COORDINATOR, &m) == 0 && tick() == 0 && silent());
	now += 1000;
	equals(receive(COORDINATOR, &m), 0);
	worker_tick(w, now, &f);
	now += 500;
	worker_tick(w, now, &f);
	post_clear();
	m.kind = MESSAGE_REFUSED;
	ok(fails(receive(COORDINATOR, &m), FAIL_PEER, "is silent"));
	end();
}

static void
hangs(void)
{
	begin(model);
	greeted();
	ready();
	for (int i = 0; i < 8; i++, now += 499)
		if (tick() < 0)
			named(false, "the worker waits");
	now = 9000;
	ok(fails(tick(), FAIL_PEER, "coordinator node:0 hangs, last heard "
		 "4.0 s ago"));
	now = 19000;
	named_equals(tick(), 0,
		     "a pause of the worker does not count as the "
		     "coordinator's silence");
	end();
}

static void
steps(void)
{
	struct message m;
	struct fail why;
	const struct worker_next *next;

	begin(model);
	greeted();
	ready();
	m = lease_of(1, 5, 2);
	equals(receive(COORDINATOR, &m), 0);
	next = worker_next(w);
	ok(next && next->step == 5 && next->replicas == 0 &&
	   next->attempt == 1 && next->batch == BATCH);
	fill();
	worker_batch(w, &batch, now, 1000 * now);
	served();
	ok(worker_can_compute(w) && worker_compute(w));
	worker_computed(w, now, 1000 * now + 7);
	ok(says(SERVER, MESSAGE_PUSH));
	post_clear();
	fail(&why, FAIL_DATA, "a.tsv:3: no label");
	worker_bad_data(w, &why);
	named(says(COORDINATOR, MESSAGE_FAILED) &&
	      last_posted->m.failed.step == 6 &&
	      strcmp(last_posted->text, "a.tsv:3: no label") == 0,
	      "an error of the data fails the step behind the computed ones");
	end();
}

static void
exhausted(void)
{
	struct message m;

	begin(model);
	greeted();
	ready();
	m = lease_of(1, 5, 2);
	ok(receive(COORDINATOR, &m) == 0 && !worker_put_back(w, &batch));
	worker_exhausted(w, 40);
	named(says(COORDINATOR, MESSAGE_EXHAUSTED) &&
	      last_posted->m.exhausted.records == 40 &&
	      last_posted->m.exhausted.term == 2 && silent(),
	      "the worker reports that its data have ended");
	m = lease_of(2, 7, 1);
	ok(receive(COORDINATOR, &m) == 0 && worker_want(w) == 0);
	end();
}

/* A worker ends when its program can no longer answer. */
static void
broken_layer(void)
{
	struct message m;

	begin(external_model);
	greeted();
	ready();
	m = lease_of(1, 5, 1);
	equals(receive(COORDINATOR, &m), 0);
	fill();
	worker_batch(w, &batch, now, 1000 * now);
	served();
	breaks = true;
	ok(worker_compute(w));
	breaks = false;
	worker_computed(w, now, 1000 * now);
	ok(!worker_can_compute(w) && silent());
	ok(fails(tick(), FAIL_PEER, "it is gone"));
	m = (struct message){ .kind = MESSAGE_PONG };
	ok(fails(receive(COORDINATOR, &m), FAIL_PEER, "it is gone"));
	worker_free(w);
	named(says(SERVER, MESSAGE_BYE) && silent(),
	      "a worker that dies sends no BYE to its coordinator");
	w = NULL;
	end();
}

static void
evaluations(void)
{
	struct message m = { .kind = MESSAGE_EVALUATE, .request = 12,
			     .frames = 1 };
	struct fail why;

	begin(model);
	greeted();
	ready();
	m.evaluate.shards = 1;
	m.evaluate.batch = BATCH;
	m.frame[0] = (struct frame){ "\x90", 1, NULL };
	ok(receive(COORDINATOR, &m) == 0 && worker_evaluation(w) &&
	   worker_evaluation_wants(w));
	fill();
	worker_evaluation_batch(w, &batch, now);
	served();
	ok(worker_compute(w) && worker_evaluation_wants(w));
	fail(&why, FAIL_NOINPUT, "no file a.tsv");
	worker_evaluation_failed(w, &why);
	ok(says(COORDINATOR, MESSAGE_REFUSED) &&
	   last_posted->m.request == 12 && !worker_evaluation(w));
	end();
}

/* The server answers all requests; counts the parts pulled from a cut, and
   those pushed. */
static void
answer_all(size_t *cut, size_t *pushed)
{
	static const float zeros[64];
	struct message m;

	while (post_first != post_end &&
	       says(SERVER, posted[post_first % POSTS].m.kind)) {
		const struct message *asked = &last_posted->m;
		const bool pull = asked->kind == MESSAGE_PULL;

		*cut += pull && asked->pull.cut == 5;
		*pushed += !pull;
		m = message_answer(asked, MESSAGE_VALUES);
		m.values.outcome = pull ? OUTCOME_NONE : OUTCOME_APPLIED;
		m.frames = asked->kind != MESSAGE_PUSH;
		m.frame[0] = (struct frame){ zeros, sizeof(float) *
			plan_part_dense(&plan, pull ? asked->pull.part :
					asked->push.part), NULL };
		equals(receive(SERVER, &m), 0);
	}
}

static void
between_steps(void)
{
	struct message m = { .kind = MESSAGE_EVALUATE, .request = 12,
			     .frames = 1 };
	size_t cut = 0, pushed = 0;

	begin(model);
	greeted();
	ready();
	m.evaluate.shards = 1;
	m.evaluate.batch = BATCH;
	m.evaluate.cut = 5;
	m.frame[0] = (struct frame){ "\x90", 1, NULL };
	equals(receive(COORDINATOR, &m), 0);
	m = lease_of(1, 7, 20);
	equals(receive(COORDINATOR, &m), 0);
	for (int i = 0; i < 12; i++) {
		fill();
		if (worker_want(w) > 0)
			worker_batch(w, &batch, now, 1000 * now);
		fill();
		if (worker_evaluation_wants(w))
			worker_evaluation_batch(w, &batch, now);
		answer_all(&cut, &pushed);
		if (worker_compute(w))
			worker_computed(w, now, 1000 * now);
	}
	named(cut >= 4 * plan.parts && pushed >= 4 * plan.parts,
	      "steps and batches of an evaluation take turns");
	post_clear();
	end();
}

/* The worker reads data of the coordinator. */
static void
blocks(void)
{
	struct message m;
	struct pack format = { 0 };
	struct record_range_tally tally = { .whole = true };
	struct lease_slice slice;
	struct frame need[4];
	struct fail why;
	uint64_t number;

	begin(model);
	greeted();
	m = plan_of(2);
	m.frames = 3;
	m.frame[2] = (struct frame){ "\xc0", 1, NULL };
	ok(receive(COORDINATOR, &m) < 0);
	end();

	begin(model);
	greeted();
	block_write_format(&format, &(struct record_range_format){ 0 }, 2);
	m = plan_of(2);
	m.frames = 3;
	m.frame[2] = (struct frame){ format.data, format.size, NULL };
	named(receive(COORDINATOR, &m) < 0,
	      "a plan with a data set that the model does not have is "
	      "refused");
	end();

	begin(model);
	greeted();
	pack_reset(&format);
	block_write_format(&format, &(struct record_range_format){ 0 }, 1);
	m = plan_of(2);
	m.frames = 3;
	m.frame[2] = (struct frame){ format.data, format.size, NULL };
	ok(receive(COORDINATOR, &m) == 0 && worker_format(w));
	worker_up(w, SERVER, now);
	m = (struct message){ .kind = MESSAGE_WELCOME };
	m.welcome.role = ROLE_SERVER;
	equals(receive(SERVER, &m), 0);
	ok(!worker_slice(w, 0, &slice) && worker_blocks(w, 0, need, 4) == 0);
	m = lease_of(1, 5, 2);
	m.frames = 2;
	m.frame[0] = (struct frame){ "\0\6\3\xc4\x03one", 8, NULL };
	m.frame[1] = (struct frame){ "\0\xc4\x03two", 6, NULL };
	equals(receive(COORDINATOR, &m), 0);
	m.request = 2;
	m.lease.first = 7;
	m.lease.count = 1;
	equals(receive(COORDINATOR, &m), 0);
	ok(worker_slice(w, 0, &slice) && slice.from == 6 &&
	   slice.count == 3 && slice.block.size == 3 &&
	   !worker_slice(w, 1, &slice));
	named(worker_blocks(w, 0, need, 4) == 2 &&
	      memcmp(need[0].data, "one", 3) == 0 &&
	      memcmp(need[1].data, "two", 3) == 0 &&
	      worker_blocks(w, 0, need, 1) == 1,
	      "blocks are named once, in their order");
	post_clear();
	fail(&why, FAIL_DATA, "a.tsv:9: no label");
	worker_bad_block(w, &why);
	ok(says(COORDINATOR, MESSAGE_FAILED) &&
	   last_posted->m.failed.step == 5);
	m = (struct message){ .kind = MESSAGE_INDEX, .request = 6 };
	ok(receive(COORDINATOR, &m) == 0 && worker_index(w, &number) &&
	   number == 6);
	worker_indexed(w, &tally);
	ok(says(COORDINATOR, MESSAGE_INDEXED) &&
	   last_posted->m.indexed.term == 2);
	equals(receive(COORDINATOR, &m), 0);
	worker_index_failed(w, &why);
	ok(says(COORDINATOR, MESSAGE_REFUSED) && !worker_index(w, &number));
	m.index.dataset = 1;
	named(receive(COORDINATOR, &m) < 0,
	      "a range of a data set that the model does not have is refused");
	pack_release(&format);
	end();
}

int
main(void)
{
	without_coordinator();
	refusals();
	plans();
	malformed();
	lost();
	hangs();
	steps();
	exhausted();
	broken_layer();
	evaluations();
	between_steps();
	blocks();
	return tap_done();
}
