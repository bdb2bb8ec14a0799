/* Rounds: which worker is leased which replica, and what servers are asked
   before a round is committed. */
#include "coord/coord_sync.h"

#include "coord/scheduler.h"

#include "coordinator.h"

#define A	1
#define B	2
#define C	3
#define RELAY	9

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";

/* Begins rounds with as many replicas as workers, less the backups. */
static void
begin(size_t workers, size_t backup)
{
	options.mode = MODE_SYNC;
	options.replicas = workers - backup;
	options.backup = backup;
	options.min_workers = workers;
	options.servers = 2;
	coordinator_begin(model);
}

/* A worker, or the relay, of the site "rack" joins. */
static void
joins_site(uint64_t peer, enum role role)
{
	struct message m = { .kind = MESSAGE_HELLO, .frames = 2 };

	m.hello.version = WIRE_VERSION;
	m.hello.role = role;
	m.hello.index = WIRE_NONE;
	m.hello.life = peer;
	if (role == ROLE_RELAY)
		m.frame[0] = (struct frame){ "node:9", 6, NULL };
	m.frame[1] = (struct frame){ "rack", 4, NULL };
	coordinator_hears(peer, &m);
	m = (struct message){ .kind = MESSAGE_READY };
	coordinator_hears(peer, &m);
	ok(says(peer, MESSAGE_WELCOME) && says(peer, MESSAGE_PLAN));
}

/* A relay without a site, or an endpoint, is none; one that is there does no
   steps. */
static void
relay_refused(void)
{
	struct message m = message_hello(ROLE_RELAY, WIRE_NONE, 9, 0);

	begin(1, 0);
	m.frames = 2;
	m.frame[0] = (struct frame){ "node:9", 6, NULL };
	m.frame[1] = (struct frame){ "a b", 3, NULL };
	coordinator_hears(9, &m);
	ok(says(9, MESSAGE_REFUSED) &&
	   strstr(last_posted->text, "a site's name is a word"));
	m.frames = 1;
	coordinator_hears(9, &m);
	ok(says(9, MESSAGE_REFUSED) &&
	   strstr(last_posted->text, "a relay of no site, or nowhere"));
	joins_site(9, ROLE_RELAY);
	m = (struct message){ .kind = MESSAGE_DONE };
	coordinator_hears(9, &m);
	ok(says(9, MESSAGE_REFUSED) &&
	   last_posted->m.refused.status == FAIL_DENIED &&
	   strstr(last_posted->text, "a relay may not send DONE"));
	coordinator_end();
}

static void
leaves(uint64_t peer)
{
	const struct message m = { .kind = MESSAGE_BYE };

	coordinator_hears(peer, &m);
}

/* Checks that the worker's next lease is this attempt at a replica, of a node
   of this level; returns the id of the lease. */
static uint64_t
leased(uint64_t peer, uint64_t replica, uint64_t attempt, unsigned level)
{
	bool is = says(peer, MESSAGE_LEASE);
	const struct message *m = &last_posted->m;

	is = is && m->lease.slot == message_node(replica, level) &&
		m->lease.attempt == attempt;
	named(is,
	      "the worker's next lease is the expected attempt and replica");
	return is ? m->request : 0;
}

/* The worker reports the replica of this lease as done; count 0: it gave the
   replica back. */
static void
answers(uint64_t peer, uint64_t lease, uint64_t step, uint64_t count)
{
	const struct result r = { .step = step, .attempt = 1, .examples = 4 };
	struct message m = { .kind = MESSAGE_DONE, .request = lease,
			     .frames = 1 };
	struct pack p = { 0 };

	if (count > 0)
		result_write(&p, &r);
	m.done.term = c->plan.term;
	m.done.count = count;
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	coordinator_hears(peer, &m);
	pack_release(&p);
}

static void
done(uint64_t peer, uint64_t lease, uint64_t step)
{
	answers(peer, lease, step, 1);
}

/* Checks that both servers are asked this about the attempts of two replicas;
   returns the message. */
static struct message
asks(enum message_kind kind, uint64_t first, uint64_t second)
{
	const char attempts[] = { (char)0x92, (char)first, (char)second };
	struct message asked = { 0 };

	for (size_t i = 0; i < 2; i++) {
		named(says(server_at(i), kind) &&
		      memcmp(last_posted->text, attempts,
			     sizeof(attempts)) == 0,
		      "each server is asked about the chosen attempts");
		asked = last_posted->m;
	}
	return asked;
}

/* A server answers that it lacks these replicas: a MessagePack array. */
static void
lacks(size_t server, const struct message *asked, const char *replicas)
{
	struct message m = message_answer(asked, MESSAGE_MISSING);

	m.frames = 1;
	m.frame[0] = (struct frame){ replicas, 1 + (*replicas & 15), NULL };
	coordinator_hears(server_at(server), &m);
}

static void
both_lack(const struct message *asked, const char *first, const char *second)
{
	lacks(0, asked, first);
	named(silent(), "nothing happens before both servers have answered");
	lacks(1, asked, second);
}

static void
commits(uint64_t first, uint64_t second)
{
	const struct message asked = asks(MESSAGE_COMMIT, first, second);
	const struct message m = message_answer(&asked, MESSAGE_OK);

	coordinator_hears(server_at(0), &m);
	coordinator_hears(server_at(1), &m);
	ok(prints("\"step\":0"));
	post_clear();		/* MARK */
}

/* Leases a replica of step 0 each to A and B, whose gradients their relay may
   add up. */
static void
begin_summed(uint64_t *a, uint64_t *b)
{
	begin(2, 0);
	joins_site(A, ROLE_WORKER);
	joins_site(B, ROLE_WORKER);
	joins_site(RELAY, ROLE_RELAY);
	ok(says(A, MESSAGE_RELAY) && says(B, MESSAGE_RELAY));
	ask("{\"op\":\"train\",\"steps\":1}");
	*a = leased(A, 0, 1, 1);
	*b = leased(B, 1, 1, 1);
	ok(silent());
}

/* Servers may have a first attempt only in a sum with an attempt that is not
   chosen, so they are asked first. */
static void
checked(void)
{
	uint64_t a, b;
	struct message asked;

	begin_summed(&a, &b);
	done(A, a, 0);
	ok(silent());
	leaves(B);
	b = leased(A, 1, 2, 0);
	done(A, b, 0);
	asked = asks(MESSAGE_CHECK, 1, 2);
	named(silent() && !sync_check(c), "no server is sent COMMIT yet");
	both_lack(&asked, "\x91\x00", "\x91\x00");
	a = leased(A, 0, 2, 0);
	named(silent(),
	      "the replica that both servers lack is leased once more, alone");
	done(A, a, 0);
	asked = asks(MESSAGE_CHECK, 2, 2);
	both_lack(&asked, "\x90", "\x90");
	commits(2, 2);
	coordinator_end();
}

/* The other replica of the sum has a later attempt, which was pushed alone. */
static void
nothing_missing(void)
{
	uint64_t a, b;
	struct message asked;

	begin_summed(&a, &b);
	leaves(A);
	a = leased(B, 0, 2, 0);
	done(B, b, 0);
	done(B, a, 0);
	asked = asks(MESSAGE_CHECK, 2, 1);
	both_lack(&asked, "\x90", "\x90");
	commits(2, 1);
	coordinator_end();
}

/* Servers are not asked about attempts that cannot be in such a sum. */
static void
sure(void)
{
	uint64_t a, b;

	begin_summed(&a, &b);
	done(A, a, 0);
	done(B, b, 0);
	named(true,
	      "with first attempts alone servers are not asked, and commit at "
	      "once");
	commits(1, 1);
	coordinator_end();

	begin(2, 0);
	joins(A);
	joins(B);
	ask("{\"op\":\"train\",\"steps\":1}");
	a = leased(A, 0, 1, 0);
	leased(B, 1, 1, 0);
	leaves(B);
	b = leased(A, 1, 2, 0);
	done(A, a, 0);
	done(A, b, 0);
	named(true,
	      "without a relay that adds up servers are not asked, and commit "
	      "at once");
	commits(1, 2);
	coordinator_end();
}

/* A server that is lost meanwhile may have lost its gradients: a new term
   begins the round again. */
static void
given_up(void)
{
	uint64_t a, b;

	begin_summed(&a, &b);
	done(A, a, 0);
	leaves(B);
	b = leased(A, 1, 2, 0);
	done(A, b, 0);
	asks(MESSAGE_CHECK, 1, 2);
	ok(c->scheduler->committing(c));
	c->scheduler->reset(c);
	named(!c->scheduler->committing(c) && !c->scheduler->running(c) &&
	      !sync_check(c),
	      "a new term forgets the round that servers were asked about");
	coordinator_end();
}

/* B hangs at its replica of step 0, and A was its backup; then A leaves, so
   that its replica of one or two later steps is free.  Returns B's lease. */
static uint64_t
begin_hung(uint64_t steps)
{
	uint64_t a, b;

	begin(3, 1);
	joins(A);
	joins(B);
	joins(C);
	ask("{\"op\":\"train\",\"steps\":1}");
	a = leased(A, 0, 1, 0);
	b = leased(B, 1, 1, 0);
	ok(silent());
	done(A, a, 0);
	a = leased(A, 1, 2, 0);
	done(A, a, 0);
	ok(says(B, MESSAGE_CANCEL));
	commits(1, 2);
	ask(steps == 1 ? "{\"op\":\"train\",\"steps\":1}" :
	    "{\"op\":\"train\",\"steps\":2}");
	for (uint64_t i = 0; i < steps; i++) {
		leased(A, 0, 1, 0);
		leased(C, 1, 1, 0);
	}
	named(silent(), "each replica is leased to a worker that answers");
	leaves(A);
	return b;
}

/*
 * There is one backup.  If B, or C, which has the other replica, were leased
 * the replica that A has left, and that worker hung, no worker could replace
 * it.
 */
static void
hung(void)
{
	for (uint64_t steps = 1; steps <= 2; steps++) {
		const uint64_t b = begin_hung(steps);

		named(silent(),
		      "a worker that has not answered CANCEL gets no lease, "
		      "and none gets two replicas of a round");
		answers(B, b, 0, 0);
		for (uint64_t i = 0; i < steps; i++)
			leased(B, 0, 2, 0);
		ok(silent());
		coordinator_end();
	}

	begin_hung(1);
	ok(silent());
	leaves(B);
	leased(C, 0, 2, 0);
	named(silent(),
	      "a worker gets two replicas if workers are fewer than replicas");
	coordinator_end();
}

/* In a new term all workers read the plan, and one is ready first; a worker
   that still reads it must get a replica, too. */
static void
ready_first(void)
{
	options.mode = MODE_SYNC;
	options.replicas = 2;
	coordinator_begin(model);
	arrives(A);
	arrives(B);
	is_ready(A);
	ask("{\"op\":\"train\",\"steps\":1}");
	leased(A, 0, 1, 0);
	named(silent(),
	      "worker A does not get the replica of worker B, which still "
	      "reads the plan");
	is_ready(B);
	leased(B, 1, 1, 0);
	ok(silent());
	coordinator_end();
}

/* Checks that this server is sent MARK with two replicas; returns its
   answer. */
static struct message
marked(size_t server)
{
	ok(says(server_at(server), MESSAGE_MARK));
	equals(last_posted->m.mark.replicas, 2);
	return message_answer(&last_posted->m, MESSAGE_OK);
}

/* Servers are told how many replicas a round has before there can be a push: by
   PLAN if it is known, else when the workers have come. */
static void
told(void)
{
	struct message m[2], back = { .kind = MESSAGE_WELCOME };

	options.mode = MODE_SYNC;
	options.min_workers = options.servers = 2;
	coordinator_begin(model);
	equals(last_posted->m.plan.replicas, 0);
	ask("{\"op\":\"train\",\"steps\":1}");
	joins(A);
	ok(silent());
	joins(B);
	for (size_t i = 0; i < 2; i++)
		m[i] = marked(i);
	coordinator_hears(server_at(0), &m[0]);
	named(silent(), "no replica is leased before all servers know it");
	coordinator_hears(server_at(1), &m[1]);
	leased(A, 0, 1, 0);
	leased(B, 1, 1, 0);
	ok(silent());
	back.welcome.version = WIRE_VERSION;
	back.welcome.role = ROLE_SERVER;
	back.welcome.life = 8;
	coord_up(c, server_at(1), now);
	ok(says(server_at(1), MESSAGE_HELLO));
	coordinator_hears(server_at(1), &back);
	ok(server_does(MESSAGE_PLAN));
	named(last_posted->m.plan.replicas == 2,
	      "the PLAN of a later term says it, too");
	coordinator_end();

	options.mode = MODE_SYNC;
	options.workers = 3;
	options.backup = 1;
	coordinator_begin(model);
	named(last_posted->m.plan.replicas == 2,
	      "PLAN knows the workers of a cluster");
	coordinator_end();

	options.replicas = 2;
	coordinator_begin(model);
	equals(last_posted->m.plan.replicas, 0);
	coordinator_end();
}

int
main(void)
{
	checked();
	nothing_missing();
	sure();
	given_up();
	hung();
	ready_first();
	told();
	relay_refused();
	return tap_done();
}
