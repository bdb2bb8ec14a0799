/*
 * A worker pulls for a step before it has its lease, if its last lease
 * announced more steps of this kind.  The values are valid only in the same
 * pass, and the examples of a batch that was read too early are put back.
 * With prefetch the worker computes a step during the exchange that pushes the
 * previous step and pulls for the next.
 */
#include "coord/coord.h"
#include "server/server.h"
#include "wire/result.h"
#include "worker/worker.h"

#include "model_fixture.h"
#include "sim_network.h"
#include "tap.h"

#include <math.h>

#define SIZES	8
#define HELD	8

static struct model_fixture fixture;
static struct sim_network network;
static struct server *server;
static struct worker *worker;
static uint64_t coordinator;	/* the worker's wire, at our end */
static uint64_t leases;
static size_t pulls, pushes, both, done, failed, lost;
static uint64_t stale;			/* staleness of the last step */
static size_t size[SIZES], batches;	/* of the batches that were given */
static float *values[SIZES];		/* of these, in the worker's use */
static bool hold;			/* keep back messages to the server */
static struct packet *held[HELD];
static size_t holds;
static size_t back;			/* examples that were put back */

static void
receive_worker(const struct packet *p)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	failed += p->message.kind == MESSAGE_FAILED;
	lost += p->message.kind == MESSAGE_LOST;
	if (p->message.kind == MESSAGE_DONE) {
		struct unpack u = unpack_from(p->message.frame[0].data,
					      p->message.frame[0].size);
		struct result r;

		ok(result_read(&u, &r, 0));
		stale = r.staleness;
		done++;
	}
	if (p->message.kind != MESSAGE_HELLO)
		return;
	coordinator = p->peer;
	m.request = p->message.request;
	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_COORDINATOR;
	m.blob = (struct frame){ "run of the tests", PLAN_RUN, NULL };
	outbox_send(&network.node[0].outbox, p->peer, &m);
}

static void
feed(void)
{
	struct batch batch = { 0 };
	struct rng rng = { 0 };
	size_t want;

	if (!worker_model(worker))
		return;
	for (;;) {
		batch_begin(&batch, fixture.batch.feature[0].input, 1,
			    fixture.batch.label.input);
		if (worker_put_back(worker, &batch)) {
			back += batch.examples;
		} else if ((want = worker_want(worker)) > 0) {
			batch_reset(&fixture.batch);
			for (size_t i = 0; i < want; i++) {
				fixture_add_example(&fixture, &rng);
				batch_append(&batch, &fixture.batch, i);
			}
			values[batches % SIZES] = batch.feature[0].value;
			size[batches++ % SIZES] = want;
			worker_batch(worker, &batch, 0, 0);
		} else {
			break;
		}
		batch_release(&batch);
	}
	batch_release(&batch);
}

/* Delivers messages until none is left. */
static void
settle(void)
{
	struct packet *p;
	struct fail f;
	int node;

	while ((p = sim_network_next(&network, &node))) {
		if (node == 1 && hold && holds < HELD) {
			held[holds++] = p;
			continue;
		}
		if (node == 1 && p->kind == PACKET_MESSAGE) {
			pulls += p->message.kind == MESSAGE_PULL;
			pushes += p->message.kind == MESSAGE_PUSH;
			both += p->message.kind == MESSAGE_PUSHPULL;
			server_receive(server, p->peer, &p->message, 0);
		} else if (node == 0 && p->kind == PACKET_MESSAGE) {
			receive_worker(p);
		} else if (node == 8 && p->kind == PACKET_UP) {
			worker_up(worker, p->peer, 0);
		} else if (node == 8 && p->kind == PACKET_MESSAGE) {
			ok(worker_receive(worker, p->peer, &p->message, 0, 0,
					  &f) == 0);
		}
		packet_free(p);
		feed();
		if (worker_compute(worker))
			worker_computed(worker, 0, 0);
	}
}

static void
send_plan(uint64_t to, uint64_t index)
{
	char *endpoint[] = { (char *)"node:1" };
	const struct coord_options o = { .server = endpoint, .servers = 1,
					 .run = "run of the tests" };
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };
	struct pack model = { 0 }, text = { 0 };
	struct plan plan = { 0 };
	struct place *place;
	size_t places;

	coord_plan(&o, fixture.model, &plan, &place, &places);
	plan_write_model(&model, &fixture.source);
	plan_write(&text, &plan);
	m.plan.term = plan.term;
	m.plan.plan = plan.number;
	m.plan.server = index;
	m.plan.batches = plan.batches;
	m.blob = (struct frame){ plan.run, PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model.data, model.size, NULL };
	m.frame[1] = (struct frame){ text.data, text.size, NULL };
	outbox_send(&network.node[0].outbox, to, &m);
	pack_release(&model);
	pack_release(&text);
	plan_release(&plan);
	free(place);
}

/* Delivers the messages to the server that were held back. */
static void
let_go(void)
{
	hold = false;
	for (size_t i = 0; i < holds; i++) {
		both += held[i]->message.kind == MESSAGE_PUSHPULL;
		server_receive(server, held[i]->peer, &held[i]->message, 0);
		packet_free(held[i]);
	}
	holds = 0;
	settle();
}

/* Is only one message held back, which pushes this step and pulls? */
static bool
under_way(uint64_t step)
{
	return holds == 1 && held[0]->message.kind == MESSAGE_PUSHPULL &&
		held[0]->message.push.step == step;
}

/* Makes every step with batch i fail from now on. */
static void
spoil(size_t i)
{
	values[i % SIZES][0] = NAN;
}

static uint64_t timeout;

static void
begin(uint64_t prefetch)
{
	const struct worker_options o = { .coordinator = "node:0",
					  .lease_ms = 1000,
					  .timeout_ms = timeout,
					  .life = 1, .index = 0,
					  .prefetch = prefetch };
	struct message hello = { .kind = MESSAGE_HELLO };
	struct fail f;
	uint64_t peer;

	fixture_begin(&fixture, "input x float[2]\nlabel y float\n"
		      "p = dense x units=1\nloss mean_squared_error p\n"
		      "optimizer sgd\n");
	sim_network_node(&network, 0);
	server = server_new(7, 500, sim_network_node(&network, 1));
	worker = worker_new(&o, sim_network_node(&network, 8), 0, &f);
	outbox_dial(&network.node[0].outbox, "node:1", &peer, &f);
	settle();
	hello.hello.version = WIRE_VERSION;
	hello.hello.role = ROLE_COORDINATOR;
	hello.blob = (struct frame){ "run of the tests", PLAN_RUN, NULL };
	outbox_send(&network.node[0].outbox, peer, &hello);
	send_plan(peer, 0);
	settle();
	send_plan(coordinator, WIRE_NONE);
	settle();
}

static void
lease(uint64_t batch, uint64_t pass, bool more)
{
	struct message m = { .kind = MESSAGE_LEASE, .request = ++leases };

	pulls = pushes = both = done = failed = back = 0;
	m.lease.term = 1;
	m.lease.first = leases;
	m.lease.count = m.lease.attempt = 1;
	m.lease.batch = batch;
	m.lease.pass = pass;
	m.lease.more = more;
	m.lease.server = WIRE_NONE;
	outbox_send(&network.node[0].outbox, coordinator, &m);
	settle();
}

static void
end(void)
{
	worker_free(worker);
	server_free(server);
	sim_network_release(&network);
	network = (struct sim_network){ 0 };
	leases = batches = 0;
	fixture_end(&fixture);
}

static void
test_early(void)
{
	begin(0);
	lease(4, 0, false);
	named(pulls == 1 && pushes == 1 && both == 0 && done == 1,
	      "without announced steps each step pulls for itself");
	lease(4, 0, true);
	named(pulls == 1 && both == 1 && done == 1,
	      "the push of a step also pulls for the announced next step");
	lease(4, 0, true);
	named(pulls == 0 && both == 1 && done == 1,
	      "the announced step needs no pull of its own");
	lease(4, 1, true);
	named(pulls == 1 && both == 1 && done == 1 && back == 0,
	      "a step after a barrier pulls again");
	lease(3, 1, false);
	named(back == 8 && pulls == 1 && pushes == 1 && done == 1 &&
	      size[(batches - 1) % SIZES] == 3,
	      "two batches of another size go back, and are read anew");
	end();
}

/* A step is computed after all messages have been answered. */
static void
test_in_turn(void)
{
	begin(0);
	lease(4, 0, true);
	ok(done == 1 && stale == 0);
	hold = true;
	lease(4, 0, true);
	ok(under_way(2) && done == 0);
	lease(4, 0, true);
	spoil(2);
	let_go();
	named(done == 1 && stale == 0 && failed == 1,
	      "no step is computed before its values have arrived");
	end();
}

static void
test_ahead(void)
{
	begin(1);
	lease(4, 0, true);
	named(pulls == 2 && both == 1 && done == 1 && stale == 0,
	      "with prefetch two steps are pulled for while one is pushed");
	hold = true;
	lease(4, 0, true);
	lease(4, 0, true);
	ok(under_way(2) && done == 0);
	spoil(2);
	let_go();
	named(done == 2 && failed == 0 && both == 2 && stale == 1,
	      "with prefetch a step is computed during the push of the one "
	      "before");
	lease(4, 1, true);
	ok(pulls == 1 && both == 1 && done == 1 && stale == 0);
	lease(4, 1, true);
	named(pulls == 1 && both == 1 && done == 1 && stale == 0,
	      "with prefetch a step after a barrier pulls again");
	lease(4, 1, true);
	ok(pulls == 0 && both == 1 && done == 1 && stale == 1);
	lease(3, 1, false);
	named(back == 12 && pulls == 1 && pushes == 1 && done == 1 &&
	      stale == 0 && size[(batches - 1) % SIZES] == 3,
	      "with prefetch three batches of another size go back");
	end();
}

/* An error is reported after all earlier steps are done. */
static void
test_failure(void)
{
	begin(1);
	lease(4, 0, true);
	hold = true;
	spoil(2);
	lease(4, 0, true);
	lease(4, 0, true);
	ok(under_way(2) && failed == 0);
	let_go();
	named(done == 1 && failed == 1 && pushes == 0,
	      "a failed step is reported after the push of the step before");
	end();
}

/* With a patience of 0 every peer that has not answered is silent for too
   long. */
static void
test_silence(void)
{
	struct fail f;

	begin(1);
	lease(4, 0, true);
	hold = true;
	lease(4, 0, true);
	lost = 0;
	ok(under_way(2) && worker_tick(worker, 1, &f) == 0);
	settle();
	named_equals(lost, 0,
		     "a peer whose answer may lie unread does not count as "
		     "silent");
	equals(worker_tick(worker, 2, &f), 0);
	settle();
	equals(lost, 1);
	let_go();
	end();
}

/* A worker that hung does not count that time as silence of its peers. */
static void
test_hang(void)
{
	struct fail f;
	uint64_t now = 1;

	timeout = 5000;
	begin(1);
	lease(4, 0, true);
	hold = true;
	lease(4, 0, true);
	lost = 0;
	ok(under_way(2) && worker_tick(worker, now, &f) == 0);
	for (now = 60000; now < 64500; now += 500)
		equals(worker_tick(worker, now, &f), 0);
	settle();
	named_equals(lost, 0, "servers get time to answer a worker that hung");
	let_go();
	end();
	timeout = 0;
}

int
main(void)
{
	test_early();
	test_in_turn();
	test_ahead();
	test_failure();
	test_silence();
	test_hang();
	return tap_done();
}
