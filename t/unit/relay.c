/*
 * A relay accepts workers while it has their plan and all servers; else it
 * forgets them and closes their connections.  It refuses other roles with the
 * reason.
 */
#include "relay/relay.h"

#include "model_fixture.h"
#include "post.h"
#include "wire/plan.h"

#define LEASE	1000
#define TIMEOUT	5000
#define COORD	1001	/* peers, in the order in which they are dialled */
#define SERVER	1002
#define MOVED	1003
#define A	1	/* peers that connect */
#define B	2

static const char text[] =
	"input x float[3]\nlabel y float\nd = dense x units=1\n"
	"loss mean_squared_error d\noptimizer sgd\n";

static struct model_fixture fixture;
static struct plan plan;
static struct pack model_frame, plan_frame;
static struct relay *relay;
static struct fail f;
static uint64_t now;

static int
hears(uint64_t peer, const struct message *m)
{
	const int status = relay_receive(relay, peer, m, now, &f);

	holds(relay_check(relay));
	return status;
}

static int
hears_kind(uint64_t peer, enum message_kind kind)
{
	const struct message m = { .kind = kind };

	return hears(peer, &m);
}

static int
hears_welcome(uint64_t peer, enum role role)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	m.welcome.role = role;
	m.welcome.term = plan.term;
	return hears(peer, &m);
}

static int
hears_refusal(uint64_t peer, uint64_t request, enum fail_kind kind)
{
	struct message m = { .kind = MESSAGE_REFUSED, .request = request };

	m.refused.status = kind;
	m.blob = (struct frame){ "the reason", 10, NULL };
	return hears(peer, &m);
}

static int
hears_plan(uint64_t term, const char *endpoint)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };

	free(plan.endpoint[0]);
	plan.endpoint[0] = mem_text(endpoint);
	pack_reset(&plan_frame);
	plan_write(&plan_frame, &plan);
	plan.term = term;
	m.plan.term = term;
	m.plan.plan = 1;
	m.plan.batches = 1;
	m.plan.server = WIRE_NONE;
	m.blob = (struct frame){ plan.run, PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model_frame.data, model_frame.size,
				     NULL };
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	return hears(COORD, &m);
}

static void
hears_hello(uint64_t peer, enum role role, uint64_t term, bool run)
{
	struct message m = message_hello(role, WIRE_NONE, 100 + peer, term);

	if (run)
		m.blob = (struct frame){ plan.run, PLAN_RUN, NULL };
	ok(hears(peer, &m) == 0);
}

static void
hears_push(uint64_t peer, uint64_t term)
{
	struct message m = { .kind = MESSAGE_PUSH, .request = 5,
			     .frames = 2 };

	m.push.run = plan_run(&plan);
	m.push.term = term;
	m.push.plan = 1;
	ok(hears(peer, &m) == 0);
}

static int
ticks(uint64_t at)
{
	int status;

	now = at;
	status = relay_tick(relay, now, &f);
	holds(relay_check(relay));
	return status;
}

static void
begin(void)
{
	const struct relay_options o = {
		.coordinator = "ipc://coord", .endpoint = "ipc://relay",
		.site = "rack1", .timeout_ms = TIMEOUT, .lease_ms = LEASE,
		.life = 77
	};

	now = 0;
	post_dialled = 0;
	post_clear();
	relay = relay_new(&o, &post, 0, &f);
	relay_up(relay, COORD, 0);
	named(says(COORD, MESSAGE_HELLO) &&
	      last_posted->m.hello.role == ROLE_RELAY &&
	      last_posted->m.frames == 2 &&
	      strcmp(last_posted->text, "ipc://relay") == 0 && silent(),
	      "the relay names its endpoint and its site to the coordinator");
	ok(hears_welcome(COORD, ROLE_COORDINATOR) == 0 && silent());
}

/* Begins with a plan, its server, and a worker. */
static void
begin_whole(void)
{
	begin();
	ok(hears_plan(1, "ipc://server") == 0);
	relay_up(relay, SERVER, 0);
	named(says(SERVER, MESSAGE_HELLO) &&
	      last_posted->m.hello.role == ROLE_RELAY && silent(),
	      "the relay connects to the servers of the plan");
	hears_hello(A, ROLE_WORKER, 1, true);
	named(says(A, MESSAGE_REFUSED) &&
	      last_posted->m.refused.status == FAIL_AGAIN,
	      "workers are refused before all servers have answered");
	ok(hears_welcome(SERVER, ROLE_SERVER) == 0);
	named(says(COORD, MESSAGE_READY) && silent(),
	      "the relay is ready when all servers have answered");
	hears_hello(A, ROLE_WORKER, 1, true);
	named(says(A, MESSAGE_WELCOME) &&
	      last_posted->m.welcome.role == ROLE_RELAY &&
	      last_posted->m.welcome.term == 1 && silent(),
	      "a ready relay accepts workers");
}

static void
end(void)
{
	relay_free(relay);
	post_clear();
}

static void
test_forwarding(void)
{
	struct message values = { .kind = MESSAGE_VALUES };

	begin_whole();
	named(strcmp(relay_state(relay), "1 workers, 0 pushes, 0 pulls (0 "
		     "shared), 0 pushes in 0 sums, 0 messages in 0 bundles") ==
	      0, "a new relay has counted nothing");
	hears_push(A, 1);
	named(silent(), "a push waits for the flush");
	relay_flush(relay);
	ok(says(SERVER, MESSAGE_PUSH));
	values.request = last_posted->m.request;
	values.values.outcome = OUTCOME_APPLIED;
	ok(hears(SERVER, &values) == 0);
	named(says(A, MESSAGE_VALUES) && last_posted->m.request == 5 &&
	      silent(), "the server's answer goes to the worker");
	hears_push(A, 0);
	named(says(A, MESSAGE_VALUES) &&
	      last_posted->m.values.outcome == OUTCOME_STALE,
	      "a push of an older term is answered STALE");
	hears_push(A, 2);
	named(says(A, MESSAGE_BYE),
	      "a worker that pushes in a newer term is sent BYE");
	hears_push(A, 1);
	named(says(A, MESSAGE_BYE) && silent(),
	      "a worker that was not accepted is sent BYE");
	hears_hello(A, ROLE_WORKER, 1, true);
	ok(says(A, MESSAGE_WELCOME));
	ok(hears_kind(A, MESSAGE_PING) == 0 && says(A, MESSAGE_PONG));
	ok(hears_kind(A, MESSAGE_PONG) == 0 && silent());
	ok(hears_kind(A, MESSAGE_MARK) == 0);
	named(says(A, MESSAGE_REFUSED) &&
	      strcmp(last_posted->text, "MARK is not for a relay") == 0,
	      "a message for other programs is refused");
	ok(hears_kind(A, MESSAGE_BYE) == 0);
	hears_push(A, 1);
	named(says(A, MESSAGE_BYE), "a worker that has left is sent BYE");
	hears_hello(A, ROLE_WORKER, 1, true);
	hears_hello(B, ROLE_WORKER, 1, true);
	post_clear();
	post_deaf = A;
	relay_left(relay);
	post_deaf = 0;
	named(says(B, MESSAGE_PING) && silent() &&
	      strncmp(relay_state(relay), "1 workers", 9) == 0,
	      "a worker that has died is found by a ping");
	relay_free(relay);
	named(says(B, MESSAGE_BYE) && says(SERVER, MESSAGE_BYE) &&
	      says(COORD, MESSAGE_BYE) && silent(),
	      "a relay that ends sends BYE to all");
}

static void
test_terms(void)
{
	begin_whole();
	hears_push(A, 1);
	ok(hears_plan(2, "ipc://server") == 0);
	named(says(A, MESSAGE_BYE) && says(COORD, MESSAGE_READY) && silent(),
	      "a new term sends BYE to all workers");
	relay_flush(relay);
	named(silent(), "a new term drops the waiting pushes");
	hears_hello(A, ROLE_WORKER, 1, true);
	named(says(A, MESSAGE_REFUSED),
	      "a worker of an older term is refused");
	ok(hears_plan(1, "ipc://server") == 0);
	named(says(COORD, MESSAGE_REFUSED),
	      "a plan of an older term is refused");
	plan.term = 2;
	ok(hears_plan(2, "ipc://server") == 0 && silent());
	ok(hears_plan(3, "ipc://other") == 0);
	named(silent() && post_hung_up == SERVER,
	      "a plan with another endpoint closes the old connection");
	relay_up(relay, MOVED, 0);
	named(says(MOVED, MESSAGE_HELLO) &&
	      last_posted->m.hello.term == 3,
	      "the relay connects to the server's new endpoint");
	ok(hears_plan(4, "ipc://other") == 0);
	named(says(MOVED, MESSAGE_HELLO) &&
	      last_posted->m.hello.term == 4,
	      "the relay greets the server again in the next term");
	end();
}

static void
test_lost_servers(void)
{
	begin_whole();
	hears_push(A, 1);
	relay_down(relay, SERVER, 0);
	named(says(A, MESSAGE_BYE) && silent(),
	      "the loss of a server sends BYE to all workers");
	relay_flush(relay);
	relay_up(relay, SERVER, 0);
	ok(says(SERVER, MESSAGE_HELLO) && silent());
	ok(hears_refusal(SERVER, WIRE_NONE, FAIL_AGAIN) == 0);
	ok(ticks(LEASE / 4) == 0);
	named(says(COORD, MESSAGE_PING) && says(SERVER, MESSAGE_HELLO) &&
	      silent(), "a server that has lost its run is greeted again");
	ok(hears_refusal(SERVER, 0, FAIL_PROTOCOL) == 0);
	named(silent(),
	      "an answer to a request of before the loss is ignored");
	ok(hears_welcome(SERVER, ROLE_SERVER) == 0 && silent());
	hears_hello(A, ROLE_WORKER, 1, true);
	named(says(A, MESSAGE_WELCOME),
	      "workers are accepted again once the server is back");
	ok(ticks(LEASE / 2) == 0);
	ok(says(COORD, MESSAGE_PING) && says(SERVER, MESSAGE_PING));
	ok(hears_kind(SERVER, MESSAGE_PONG) == 0);
	ok(ticks(3 * LEASE / 4) == 0);
	ok(says(COORD, MESSAGE_PING) && says(SERVER, MESSAGE_PING));
	ok(ticks(LEASE) == 0);
	ok(says(COORD, MESSAGE_PING) && says(SERVER, MESSAGE_PING));
	ok(ticks(LEASE + LEASE / 4) == 0);
	named(says(COORD, MESSAGE_PING) && says(A, MESSAGE_BYE) &&
	      says(SERVER, MESSAGE_HELLO) && silent(),
	      "a server that is silent for half a lease counts as lost");
	ok(hears_welcome(SERVER, ROLE_SERVER) == 0);
	hears_hello(A, ROLE_WORKER, 1, true);
	post_clear();
	ok(hears_refusal(SERVER, 0, FAIL_PROTOCOL) == 0);
	named(says(A, MESSAGE_BYE) && silent(),
	      "a server that does not know the relay counts as lost");
	ok(hears_refusal(SERVER, WIRE_NONE, FAIL_CONFIG) < 0 &&
	   f.kind == FAIL_CONFIG);
	named(strcmp(f.text, "server 0 (ipc://server): the reason") == 0,
	      "a final refusal by a server ends the relay");
	ok(hears_welcome(SERVER, ROLE_WORKER) < 0);
	named(strcmp(f.text, "server 0 (ipc://server): another program listens "
		     "there") ==
	      0, "a program that is not a server ends the relay");
	end();
}

static void
test_sleep(void)
{
	begin_whole();
	ok(ticks(LEASE / 4) == 0);
	post_clear();
	ok(ticks(2 * LEASE) == 0);
	named(says(A, MESSAGE_BYE) && says(COORD, MESSAGE_PING) &&
	      says(SERVER, MESSAGE_PING) && silent(),
	      "a relay that was stopped for long loses its workers alone");
	ok(hears_refusal(COORD, 0, FAIL_PROTOCOL) == 0);
	named(says(COORD, MESSAGE_HELLO) && silent(),
	      "a coordinator that does not know the relay is greeted");
	ok(hears_refusal(COORD, 0, FAIL_PROTOCOL) == 0);
	named(silent(), "the coordinator is greeted once");
	ok(hears_refusal(COORD, WIRE_NONE, FAIL_AGAIN) == 0);
	ok(ticks(2 * LEASE + LEASE / 4) == 0);
	ok(says(COORD, MESSAGE_HELLO));
	for (now = 2 * LEASE; now < 4 * LEASE; now += LEASE / 4)
		relay_tick(relay, now, &f);
	named(hears_refusal(COORD, WIRE_NONE, FAIL_AGAIN) < 0 &&
	      f.kind == FAIL_AGAIN &&
	      strcmp(f.text, "coordinator ipc://coord: the reason") == 0,
	      "another relay that keeps the site for two leases ends this "
	      "one");
	end();
}

static void
test_coordinator(void)
{
	const struct message none = { .kind = MESSAGE_PLAN, .frames = 2 };
	const struct message stop = { .kind = MESSAGE_STOP };

	begin();
	for (now = 0; now < TIMEOUT; now += 400)
		ok(relay_tick(relay, now, &f) == 0);
	named(ticks(TIMEOUT) < 0 && strcmp(f.text, "coordinator ipc://coord "
					   "hangs, last heard 5.0 s ago") == 0,
	      "a silent coordinator is an error");
	relay_down(relay, COORD, now);
	post_clear();
	for (; now < 2 * TIMEOUT; now += 400)
		ok(relay_tick(relay, now, &f) == 0);
	named(silent(), "a lost coordinator is sent nothing");
	named(ticks(2 * TIMEOUT + 200) < 0 &&
	      strcmp(f.text, "coordinator ipc://coord does not answer within "
		     "5 s") == 0, "a coordinator that stays lost is an error");
	relay_up(relay, COORD, now);
	post_clear();
	named(hears(COORD, &none) < 0,
	      "a plan without the name of its run is refused");
	ok(hears_kind(COORD, MESSAGE_PING) == 0 && says(COORD, MESSAGE_PONG));
	named(!relay_stopped(relay) && hears(COORD, &stop) == 0 &&
	      relay_stopped(relay),
	      "STOP from the coordinator stops the relay");
	end();
	post_cannot_dial = true;
	named(!relay_new(&(struct relay_options){ .coordinator = "?" }, &post,
			 0, &f),
	      "a coordinator that cannot be dialled is an error");
	post_cannot_dial = false;
}

static void
refuses(enum role role, bool run, const char *why)
{
	hears_hello(B, role, 1, run);
	named_for(says(B, MESSAGE_REFUSED) &&
		  last_posted->m.refused.status == FAIL_CONFIG &&
		  strcmp(last_posted->text, why) == 0 && silent(),
		  "HELLO of role %d is refused with: %s", (int)role, why);
}

static void
test_others(void)
{
	struct message other = message_hello(ROLE_WORKER, WIRE_NONE, 9, 1);

	begin_whole();
	refuses(ROLE_RELAY, true, "it is the relay of rack1, and a relay does "
		"not connect to another relay");
	refuses(ROLE_EVALUATOR, true, "it is the relay of rack1, which "
		"evaluators do not use");
	refuses(ROLE_EVALUATOR, false, "it is the relay of rack1, not a "
		"coordinator");
	refuses(ROLE_WORKER, false, "it is the relay of rack1, not a "
		"coordinator");
	refuses(ROLE_SERVER, false, "it is the relay of rack1, not a "
		"coordinator");
	refuses(ROLE_COORDINATOR, false, "it is the relay of rack1, not a "
		"server");
	refuses(ROLE_STANDBY, false, "it is the relay of rack1, not a server");
	other.hello.version++;
	ok(hears(B, &other) == 0);
	named(says(B, MESSAGE_REFUSED) &&
	      last_posted->m.refused.status == FAIL_PROTOCOL,
	      "a program of another version is refused");
	end();
}

static void
test_alone(void)
{
	begin();
	named(!relay_is_alone(relay, 10 * LEASE),
	      "a relay without a plan does not count as alone");
	ok(hears_plan(1, "ipc://server") == 0);
	relay_up(relay, SERVER, 0);
	now = 1;
	ok(hears_welcome(SERVER, ROLE_SERVER) == 0);
	named(!relay_is_alone(relay, LEASE) &&
	      relay_is_alone(relay, 1 + LEASE) &&
	      !relay_is_alone(relay, 9 * LEASE),
	      "a relay without workers for a lease counts as alone, once");
	end();
	begin_whole();
	named(!relay_is_alone(relay, 9 * LEASE),
	      "a relay with a worker does not count as alone");
	end();
}

int
main(void)
{
	const struct partitioner whole = { .kind = PARTITION_NONE };
	char endpoint[] = "-", *endpoints = endpoint;
	struct place *place;
	size_t places;

	fixture_begin(&fixture, text);
	place = partition_plan(fixture.variable, fixture.variables, &whole,
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, &endpoints, 1);
	plan.number = 1;
	memcpy(plan.run, "a run of 16 byte", PLAN_RUN);
	plan_write_model(&model_frame, &fixture.source);
	test_forwarding();
	test_terms();
	test_lost_servers();
	test_sleep();
	test_coordinator();
	test_others();
	test_alone();
	free(place);
	pack_release(&model_frame);
	pack_release(&plan_frame);
	plan_release(&plan);
	fixture_end(&fixture);
	return tap_done();
}
