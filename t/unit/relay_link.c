/*
 * A client uses its relay while that answers.  When the relay does not, or
 * sends BYE, or the plan is newer, the client sends its unanswered requests to
 * the servers.
 */
#include "client/client.h"

#include "model_fixture.h"
#include "post.h"

#define LEASE	1000
#define SERVER	1001	/* peers, in the order in which they are dialled */
#define RELAY	1002

static const char text[] =
	"input x float[3]\nlabel y float\nd = dense x units=1\n"
	"loss mean_squared_error d\noptimizer sgd\n";

static struct model_fixture fixture;
static struct plan plan;
static struct client *client;
static struct fail f;
static float values[4];

static int
hears(uint64_t peer, const struct message *m, uint64_t now)
{
	return client_receive(client, peer, m, now, &f);
}

static int
hears_welcome(uint64_t peer, enum role role, uint64_t term, uint64_t now)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	m.welcome.role = role;
	m.welcome.term = term;
	m.welcome.life = 5;
	return hears(peer, &m, now);
}

static int
hears_kind(uint64_t peer, enum message_kind kind, uint64_t now)
{
	const struct message m = { .kind = kind };

	return hears(peer, &m, now);
}

static void
hears_of_relay(uint64_t life, uint64_t now)
{
	struct message m = { .kind = MESSAGE_RELAY, .relay.life = life };

	m.frames = life > 0;
	m.frame[0] = (struct frame){ "ipc://relay", 11, NULL };
	client_relay(client, &m, now);
}

/* The client receives the answer to its last message. */
static int
hears_values(uint64_t peer, enum outcome outcome, uint64_t now)
{
	struct message m = message_answer(&last_posted->m, MESSAGE_VALUES);

	m.values.outcome = outcome;
	m.frames = 1;
	m.frame[0] = (struct frame){ values, sizeof(values), NULL };
	return hears(peer, &m, now);
}

static void
exchange(bool push, uint64_t after, uint64_t now)
{
	const struct exchange x = { .pull = fixture.compute, .after = after,
				    .cut = WIRE_NONE, .server = WIRE_NONE,
				    .push = push ? fixture.compute : NULL,
				    .examples = 1, .step = 1 };

	client_exchange(client, &x, now);
}

static void
begin(void)
{
	post_dialled = 0;
	plan.term = 1;
	client = client_new(&plan, fixture.model, ROLE_WORKER, 3, &post, 0,
			    &f);
	client_up(client, SERVER, 0);
	ok(hears_welcome(SERVER, ROLE_SERVER, 1, 0) == 0 &&
	   client_ready(client));
	post_clear();
}

/* Begins with a relay that accepts the client. */
static void
begin_relayed(void)
{
	begin();
	hears_of_relay(9, 0);
	client_up(client, RELAY, 0);
	ok(says(RELAY, MESSAGE_HELLO) && silent());
	ok(hears_welcome(RELAY, ROLE_RELAY, 1, 0) == 0);
}

static void
end(void)
{
	client_free(client);
	post_clear();
}

static void
test_way(void)
{
	begin();
	exchange(false, 0, 0);
	named(says(SERVER, MESSAGE_PULL),
	      "a client without a relay pulls from the server");
	hears_of_relay(9, 0);
	hears_of_relay(9, 0);
	client_up(client, RELAY, 0);
	named(says(RELAY, MESSAGE_HELLO) &&
	      last_posted->m.hello.role == ROLE_WORKER &&
	      last_posted->m.hello.term == 1 && silent(),
	      "the client connects to its relay once");
	ok(hears_welcome(RELAY, ROLE_RELAY, 1, 0) == 0 && silent());
	exchange(true, 0, 0);
	named(says(RELAY, MESSAGE_PUSHPULL) && silent(),
	      "the next exchange goes through the relay");
	ok(hears_values(SERVER, OUTCOME_APPLIED, 0) == 0);
	named(!client_idle(client),
	      "a server's late answer does not count for the exchange");
	ok(hears_values(RELAY, OUTCOME_APPLIED, 0) == 0);
	named(client_idle(client) && client_exchanged(client)->applied == 1,
	      "the relay's answer ends the exchange");
	ok(hears_values(RELAY, OUTCOME_APPLIED, 0) == 0 && silent());
	end();
}

static void
test_terms(void)
{
	begin();
	hears_of_relay(9, 0);
	client_up(client, RELAY, 0);
	post_clear();
	ok(hears_welcome(RELAY, ROLE_RELAY, 2, 0) == 0);
	exchange(false, 0, 0);
	named(says(SERVER, MESSAGE_PULL),
	      "a relay of another term is not used");
	ok(hears_welcome(RELAY, ROLE_SERVER, 1, 0) == 0);
	exchange(false, 0, 0);
	named(says(SERVER, MESSAGE_PULL),
	      "a program that is not a relay is not used");
	ok(hears_welcome(RELAY, ROLE_RELAY, 1, 0) == 0);
	plan.term = 2;
	ok(client_renew(client, 0, &f) == 0);
	named(says(RELAY, MESSAGE_HELLO) &&
	      last_posted->m.hello.term == 2 && silent(),
	      "a new term greets the relay again");
	exchange(false, 0, 0);
	named(says(SERVER, MESSAGE_PULL),
	      "the client pulls from the server until the relay answers");
	end();
}

static void
test_silence(void)
{
	struct message late;
	size_t server;

	begin_relayed();
	exchange(true, 0, 0);
	ok(says(RELAY, MESSAGE_PUSHPULL));
	late = last_posted->m;
	client_tick(client, LEASE / 4, LEASE);
	named(says(RELAY, MESSAGE_PING) && silent(),
	      "a relay that owes an answer is sent PING");
	ok(hears_kind(RELAY, MESSAGE_PONG, LEASE / 4) == 0);
	client_tick(client, LEASE, LEASE);
	named(says(RELAY, MESSAGE_PING) && silent(),
	      "a relay that answers PING keeps the request");
	named_equals(client_check(client, 100000, 1000, &server, &f), 0,
		     "servers behind a relay that answers do not count as "
		     "silent");
	client_tick(client, LEASE + LEASE / 4, LEASE);
	named(says(RELAY, MESSAGE_PING) && silent(),
	      "the relay is sent PING again");
	client_tick(client, LEASE + LEASE / 2, LEASE);
	named(says(RELAY, MESSAGE_HELLO) && says(SERVER, MESSAGE_PUSHPULL) &&
	      last_posted->m.request == late.request &&
	      silent(),
	      "after half a lease of silence the request goes to the server, "
	      "and HELLO to the relay");
	last_posted->m = late;
	ok(hears_values(RELAY, OUTCOME_DUP, 0) == 0);
	named(!client_idle(client), "the late answer of the relay is ignored");
	ok(hears_values(SERVER, OUTCOME_APPLIED, 0) == 0);
	named(client_idle(client), "the server's answer ends the exchange");
	ok(hears_welcome(RELAY, ROLE_RELAY, 1, LEASE) == 0);
	exchange(false, 0, LEASE);
	named(says(RELAY, MESSAGE_PULL),
	      "a relay that answers HELLO is used again");
	client_tick(client, 3 * LEASE, LEASE);
	ok(says(RELAY, MESSAGE_PING));
	client_skip_pause(client, 5 * LEASE);
	client_tick(client, 5 * LEASE, LEASE);
	named(says(RELAY, MESSAGE_PING) && silent(),
	      "a pause of the client does not count as the relay's silence");
	end();
}

static void
test_farewells(void)
{
	begin_relayed();
	exchange(true, 7, 0);
	named(says(RELAY, MESSAGE_PULL) && says(RELAY, MESSAGE_PUSH),
	      "the pull and the push of a round go through the relay");
	ok(hears_kind(RELAY, MESSAGE_BYE, 1) == 0);
	named(says(SERVER, MESSAGE_PULL) && says(SERVER, MESSAGE_PUSH) &&
	      silent(),
	      "BYE from the relay sends both requests to the server");
	client_tick(client, LEASE, LEASE);
	named(says(RELAY, MESSAGE_HELLO),
	      "a relay that sent BYE is greeted again");
	end();

	begin_relayed();
	exchange(true, 0, 0);
	post_clear();
	client_down(client, RELAY, 1);
	named(says(SERVER, MESSAGE_PUSHPULL) && silent(),
	      "a broken connection to the relay sends the request to the "
	      "server");
	client_tick(client, LEASE, LEASE);
	named(silent(), "a relay without a connection is sent nothing");
	end();

	begin_relayed();
	client_down(client, SERVER, 0);
	exchange(true, 0, 0);
	named(says(RELAY, MESSAGE_PUSHPULL),
	      "a client that has lost the server uses the relay");
	hears_of_relay(0, 1);
	named(says(RELAY, MESSAGE_BYE) && silent() && post_hung_up == RELAY,
	      "a relay that the coordinator takes back is sent BYE, and "
	      "disconnected");
	client_up(client, SERVER, 2);
	ok(says(SERVER, MESSAGE_HELLO));
	ok(hears_welcome(SERVER, ROLE_SERVER, 1, 2) == 0);
	named(says(SERVER, MESSAGE_PUSHPULL),
	      "the server gets the request when it is connected again");
	post_cannot_dial = true;
	hears_of_relay(10, 3);
	post_cannot_dial = false;
	named(!client_knows(client, RELAY + 1),
	      "a relay that cannot be dialled is not used");
	end();
}

int
main(void)
{
	const struct partitioner whole = { .kind = PARTITION_NONE };
	char endpoint[] = "-", *endpoints = endpoint;
	struct rng rng = { .seed = 1 };
	struct place *place;
	size_t places;

	fixture_begin(&fixture, text);
	fixture_add_example(&fixture, &rng);
	compute_begin(fixture.compute, &fixture.batch);
	place = partition_plan(fixture.variable, fixture.variables, &whole,
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, &endpoints, 1);
	test_way();
	test_terms();
	test_silence();
	test_farewells();
	free(place);
	plan_release(&plan);
	fixture_end(&fixture);
	return tap_done();
}
