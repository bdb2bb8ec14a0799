#include "relay/relay.h"

#include "base/mem.h"
#include "base/pause.h"
#include "base/peers.h"
#include "client/run.h"
#include "relay/forwarder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKEN_LEASES	2	/* leases to wait for another relay of the
				   site to go */
#define ASKS		4	/* HELLO or PING, in a lease */
#define HELLO_REQUEST	WIRE_NONE

/*
 * The session with the coordinator.
 *
 *	DOWN --relay_up()--> GREETED --WELCOME--> WELCOME
 *	WELCOME --all servers have let us in--> READY
 *	READY --PLAN, of a newer term--> WELCOME
 *	any --relay_down()--> DOWN
 */
enum session { SESSION_DOWN, SESSION_GREETED, SESSION_WELCOME,
	       SESSION_READY };

struct server_link {
	char *endpoint;			/* where it was dialled */
	bool up, welcome;
	uint64_t asked_ms;		/* when HELLO or PING was last sent */
	uint64_t silent_ms;		/* when the first PING was sent after
					   which nothing came; 0: none */
};

/* The items of the map of workers, which is a set, all point at this. */
static char a_worker[1];

struct relay {
	struct outbox *outbox;
	struct relay_options options;
	uint64_t coordinator;		/* peer */
	enum session session;
	uint64_t heard_ms, down_since_ms, asked_ms, ticked_ms;
	uint64_t expired_ms;		/* when forwarder_expire() was called */
	uint64_t taken_ms;		/* since when another relay is known to
					   have the site; 0: none */
	bool stopped;

	struct run run;			/* without a client */
	struct server_link *server;
	uint64_t *peer;			/* of each server */
	struct forwarder *forwarder;	/* NULL until there is a plan */
	struct peers workers;

	uint64_t alone_ms;		/* since when it has been ready without
					   a worker; 0: it is not */
	bool alone_reported;
	char text[256];
};

struct relay *
relay_new(const struct relay_options *o, struct outbox *outbox, uint64_t now,
	  struct fail *f)
{
	struct relay *r = mem_alloc(1, sizeof(*r));

	r->outbox = outbox;
	r->options = *o;
	r->heard_ms = r->down_since_ms = r->ticked_ms = now;
	if (outbox_dial(outbox, o->coordinator, &r->coordinator, f) < 0) {
		free(r);
		return NULL;
	}
	return r;
}

/* ---- workers ---- */

static bool
is_worker(const struct relay *r, uint64_t peer)
{
	return peers_find(&r->workers, peer) != NULL;
}

static void
send_message(struct relay *r, uint64_t peer, enum message_kind kind)
{
	const struct message m = { .kind = kind };

	outbox_send(r->outbox, peer, &m);
}

static void
forget_worker(struct relay *r, uint64_t peer)
{
	peers_remove(&r->workers, peer);
	if (r->forwarder)
		forwarder_leave(r->forwarder, peer);
}

/* Send all workers away and forget their requests: they send these to the
   servers themselves. */
static void
dismiss_workers(struct relay *r)
{
	for (size_t i = 0; i < r->workers.room; i++)
		if (r->workers.entry[i].item)
			send_message(r, r->workers.entry[i].peer, MESSAGE_BYE);
	peers_release(&r->workers);
	if (r->forwarder)
		forwarder_drop(r->forwarder);
}

void
relay_left(struct relay *r)
{
	const struct message ping = { .kind = MESSAGE_PING };
	uint64_t *gone = mem_alloc(r->workers.count, sizeof(*gone));
	size_t count = 0;

	for (size_t i = 0; i < r->workers.room; i++)
		if (r->workers.entry[i].item &&
		    !outbox_reaches(r->outbox, r->workers.entry[i].peer,
				    &ping))
			gone[count++] = r->workers.entry[i].peer;
	for (size_t i = 0; i < count; i++)
		forget_worker(r, gone[i]);
	free(gone);
}

/* ---- servers ---- */

static void
greet_server(struct relay *r, size_t i, uint64_t now)
{
	struct message m = message_hello(ROLE_RELAY, WIRE_NONE,
					 r->options.life, r->run.plan.term);

	m.request = HELLO_REQUEST;
	m.blob = (struct frame){ r->run.plan.run, PLAN_RUN, NULL };
	r->server[i].asked_ms = now;
	outbox_send(r->outbox, r->peer[i], &m);
}

static int
dial_server(struct relay *r, size_t i, struct fail *f)
{
	struct server_link *s = &r->server[i];

	free(s->endpoint);
	*s = (struct server_link){
		.endpoint = mem_text(r->run.plan.endpoint[i])
	};
	if (outbox_dial(r->outbox, s->endpoint, &r->peer[i], f) < 0)
		return fail_at(f, "server %zu", i);
	return 0;
}

static bool
has_all_servers(const struct relay *r)
{
	for (size_t i = 0; i < r->run.plan.servers; i++)
		if (!r->server[i].welcome)
			return false;
	return r->forwarder != NULL;
}

static bool
find_server(const struct relay *r, uint64_t peer, size_t *i)
{
	for (*i = 0; r->forwarder && *i < r->run.plan.servers; ++*i)
		if (r->peer[*i] == peer)
			return true;
	return false;
}

/* A server is lost, so that nothing can be passed on; the workers may reach
   it. */
static void
lose_server(struct relay *r, size_t i)
{
	r->server[i].welcome = false;
	r->server[i].silent_ms = 0;
	dismiss_workers(r);
}

static void
send_ready(struct relay *r, uint64_t now)
{
	if (r->session != SESSION_WELCOME || !has_all_servers(r))
		return;
	r->session = SESSION_READY;
	if (!r->alone_reported)
		r->alone_ms = now;
	send_message(r, r->coordinator, MESSAGE_READY);
}

static int
refused_by_server(struct relay *r, size_t i, const struct message *m,
		  struct fail *f)
{
	char text[MESSAGE_BLOB + 1];

	/* The server does not know us any more, or refuses a worker's message:
	   the workers ask the server themselves and get its answer. */
	if (r->server[i].welcome && (m->refused.status == FAIL_PROTOCOL ||
				     (m->refused.status != FAIL_AGAIN &&
				      forwarder_sums(r->forwarder,
						     m->request)))) {
		lose_server(r, i);
		return 0;
	}
	if (r->server[i].welcome) {
		forwarder_answer(r->forwarder, m);
		return 0;
	}
	/* The server has lost the run, or a message had overtaken HELLO. */
	if (m->refused.status == FAIL_AGAIN || m->request != HELLO_REQUEST)
		return 0;
	message_text(m, text, sizeof(text));
	return fail(f, message_status(m->refused.status), "server %zu (%s): "
		    "%s", i, r->server[i].endpoint, text);
}

static int
receive_server(struct relay *r, size_t i, const struct message *m,
	       struct fail *f)
{
	struct server_link *s = &r->server[i];

	s->silent_ms = 0;
	switch (m->kind) {
	case MESSAGE_WELCOME:
		if (m->welcome.role != ROLE_SERVER || m->welcome.index != i)
			return fail(f, FAIL_PROTOCOL, "server %zu (%s): "
				    "another program listens there", i,
				    s->endpoint);
		s->welcome = true;
		return 0;
	case MESSAGE_VALUES:
		forwarder_answer(r->forwarder, m);
		return 0;
	case MESSAGE_REFUSED:
		return refused_by_server(r, i, m, f);
	default:
		return 0;
	}
}

/* ---- the coordinator and the plan ---- */

static void
hello(struct relay *r, uint64_t now)
{
	const struct relay_options *o = &r->options;
	struct message m = message_hello(ROLE_RELAY, WIRE_NONE, o->life, 0);

	m.request = HELLO_REQUEST;
	m.frames = 2;
	m.frame[0] = (struct frame){ o->endpoint, strlen(o->endpoint), NULL };
	m.frame[1] = (struct frame){ o->site, strlen(o->site), NULL };
	r->session = SESSION_GREETED;
	r->asked_ms = now;
	outbox_send(r->outbox, r->coordinator, &m);
}

static int
begin_run(struct relay *r, struct fail *f)
{
	const size_t servers = r->run.plan.servers;

	r->server = mem_alloc(servers, sizeof(*r->server));
	r->peer = mem_alloc(servers, sizeof(*r->peer));
	r->forwarder = forwarder_new(&r->run.plan, r->run.model, r->outbox);
	for (size_t i = 0; i < servers; i++)
		if (dial_server(r, i, f) < 0)
			return -1;
	return 0;
}

static int
renew_run(struct relay *r, uint64_t now, struct fail *f)
{
	const struct plan *plan = &r->run.plan;

	dismiss_workers(r);
	if (r->session == SESSION_READY)
		r->session = SESSION_WELCOME;
	for (size_t i = 0; i < plan->servers; i++) {
		if (strcmp(r->server[i].endpoint, plan->endpoint[i]) != 0) {
			outbox_hang_up(r->outbox, r->peer[i]);
			if (dial_server(r, i, f) < 0)
				return -1;
		} else if (r->server[i].up && !r->server[i].welcome) {
			greet_server(r, i, now);
		}
	}
	return 0;
}

static int
take_plan(struct relay *r, const struct message *m, uint64_t now,
	  struct fail *f)
{
	const struct message old = message_refuse(m, FAIL_AGAIN, "this term "
						  "is over, another began");

	switch (run_take_plan(&r->run, m, f)) {
	case RUN_BEGUN:
		return begin_run(r, f);
	case RUN_RENEWED:
		return renew_run(r, now, f);
	case RUN_OLDER:
		outbox_send(r->outbox, r->coordinator, &old);
		return 0;
	case RUN_KNOWN:
		return 0;
	default:
		return -1;
	}
}

/*
 * If HELLO is refused with FAIL_AGAIN, another relay has the site, and may be
 * about to leave: wait for TAKEN_LEASES leases.  If another message is refused,
 * the coordinator does not know us any more, as after a pause: say HELLO again.
 */
static int
refused(struct relay *r, const struct message *m, uint64_t now,
	struct fail *f)
{
	const uint64_t most = TAKEN_LEASES * r->options.lease_ms;
	char text[MESSAGE_BLOB + 1];

	if (m->request != HELLO_REQUEST || r->session == SESSION_DOWN) {
		if (r->session >= SESSION_WELCOME)
			hello(r, now);
		return 0;
	}
	if (r->taken_ms == 0)
		r->taken_ms = now;
	if (m->refused.status == FAIL_AGAIN && now - r->taken_ms < most)
		return 0;	/* relay_tick() asks again */
	message_text(m, text, sizeof(text));
	return fail(f, message_status(m->refused.status), "coordinator %s: %s",
		    r->options.coordinator, text);
}

static int
receive_coordinator(struct relay *r, const struct message *m, uint64_t now,
		    struct fail *f)
{
	const struct message pong = message_answer(m, MESSAGE_PONG);

	r->heard_ms = now;
	switch (m->kind) {
	case MESSAGE_WELCOME:
		if (r->session == SESSION_GREETED)
			r->session = SESSION_WELCOME;
		r->taken_ms = 0;
		return 0;
	case MESSAGE_PLAN:
		return take_plan(r, m, now, f);
	case MESSAGE_PING:
		outbox_send(r->outbox, r->coordinator, &pong);
		return 0;
	case MESSAGE_STOP:
		r->stopped = true;
		return 0;
	case MESSAGE_REFUSED:
		return refused(r, m, now, f);
	default:
		return 0;
	}
}

/* ---- callers ---- */

/* Fail for a caller that is not a worker of a run.  From its HELLO the relay
   knows what the caller took it for, and says so. */
static int
check_caller(const struct relay *r, const struct message *m, struct fail *f)
{
	const char *site = r->options.site;

	if (message_check_hello(m, f) < 0)
		return -1;
	switch (m->hello.role) {
	case ROLE_RELAY:
		return fail(f, FAIL_CONFIG, "it is the relay of %s, and a "
			    "relay does not connect to another relay", site);
	case ROLE_COORDINATOR:
	case ROLE_STANDBY:
		return fail(f, FAIL_CONFIG, "it is the relay of %s, not a "
			    "server", site);
	default:
		break;
	}
	/* A HELLO to a server, and so to a relay, has the run as its blob. */
	if (m->hello.role == ROLE_WORKER && m->blob.size > 0)
		return 0;
	if (m->hello.role == ROLE_EVALUATOR && m->blob.size > 0)
		return fail(f, FAIL_CONFIG, "it is the relay of %s, which "
			    "evaluators do not use", site);
	return fail(f, FAIL_CONFIG, "it is the relay of %s, not a coordinator",
		    site);
}

static int
admit_worker(struct relay *r, uint64_t peer, const struct message *m,
	     struct fail *f)
{
	struct message out = message_answer(m, MESSAGE_WELCOME);
	const struct plan *plan = &r->run.plan;

	if (check_caller(r, m, f) < 0)
		return -1;
	if (!has_all_servers(r) || m->blob.size != PLAN_RUN ||
	    memcmp(m->blob.data, plan->run, PLAN_RUN) != 0 ||
	    m->hello.term != plan->term)
		return fail(f, FAIL_AGAIN, "not ready for this run and term");
	forget_worker(r, peer);		/* it sends its requests again */
	peers_set(&r->workers, peer, a_worker);
	r->alone_ms = 0;
	r->alone_reported = true;
	out.welcome.version = WIRE_VERSION;
	out.welcome.role = ROLE_RELAY;
	out.welcome.index = m->hello.index;
	out.welcome.life = r->options.life;
	out.welcome.term = plan->term;
	out.welcome.plan = plan->number;
	out.blob = (struct frame){ plan->run, PLAN_RUN, NULL };
	outbox_send(r->outbox, peer, &out);
	return 0;
}

/* Take a worker's request.  One of another run or term is not passed on: the
   relay answers it. */
static void
ask(struct relay *r, uint64_t peer, const struct message *m)
{
	const struct plan *plan = &r->run.plan;
	struct message stale = message_answer(m, MESSAGE_VALUES);

	stale.values.outcome = OUTCOME_STALE;
	if (m->pull.run != plan_run(plan) || m->pull.term < plan->term) {
		outbox_send(r->outbox, peer, &stale);
	} else if (m->pull.term > plan->term) {
		forget_worker(r, peer);
		send_message(r, peer, MESSAGE_BYE);
	} else {
		forwarder_ask(r->forwarder, peer, m);
	}
}

static void
receive_caller(struct relay *r, uint64_t peer, const struct message *m)
{
	const struct message pong = message_answer(m, MESSAGE_PONG);
	struct message out;
	struct fail f;
	int status = 0;

	if (m->kind == MESSAGE_HELLO) {
		status = admit_worker(r, peer, m, &f);
	} else if (m->kind == MESSAGE_BYE) {
		forget_worker(r, peer);
	} else if (m->kind == MESSAGE_PONG) {
		;			/* the answer to relay_left() */
	} else if (!is_worker(r, peer)) {
		send_message(r, peer, MESSAGE_BYE);
	} else if (m->kind == MESSAGE_PING) {
		outbox_send(r->outbox, peer, &pong);
	} else if (m->kind == MESSAGE_PULL || m->kind == MESSAGE_PUSH ||
		   m->kind == MESSAGE_PUSHPULL) {
		ask(r, peer, m);
	} else {
		status = fail(&f, FAIL_PROTOCOL, "%s is not for a relay",
			      message_name(m->kind));
	}
	if (status == 0)
		return;
	out = message_refuse(m, f.kind, f.text);
	outbox_send(r->outbox, peer, &out);
}

/* ---- events ---- */

void
relay_up(struct relay *r, uint64_t peer, uint64_t now)
{
	size_t i;

	if (peer == r->coordinator) {
		r->heard_ms = now;
		hello(r, now);
	} else if (find_server(r, peer, &i)) {
		lose_server(r, i);	/* what was sent to it may be lost */
		r->server[i].up = true;
		greet_server(r, i, now);
	}
}

void
relay_down(struct relay *r, uint64_t peer, uint64_t now)
{
	size_t i;

	if (peer == r->coordinator) {
		r->session = SESSION_DOWN;
		r->down_since_ms = now;
	} else if (find_server(r, peer, &i)) {
		r->server[i].up = false;
		lose_server(r, i);
	}
}

int
relay_receive(struct relay *r, uint64_t peer, const struct message *m,
	      uint64_t now, struct fail *f)
{
	int status = 0;
	size_t i;

	if (peer == r->coordinator)
		status = receive_coordinator(r, m, now, f);
	else if (find_server(r, peer, &i))
		status = receive_server(r, i, m, f);
	else
		receive_caller(r, peer, m);
	if (status == 0)
		send_ready(r, now);
	return status;
}

void
relay_flush(struct relay *r)
{
	if (r->forwarder)
		forwarder_flush(r->forwarder, r->peer);
}

/* ---- deadlines ---- */

static void
ask_server(struct relay *r, size_t i, uint64_t now)
{
	struct server_link *s = &r->server[i];

	if (s->silent_ms > 0 && now - s->silent_ms >= r->options.lease_ms / 2)
		lose_server(r, i);
	if (!s->up || now - s->asked_ms < r->options.lease_ms / ASKS)
		return;
	if (!s->welcome) {
		greet_server(r, i, now);
		return;
	}
	s->asked_ms = now;
	if (s->silent_ms == 0)
		s->silent_ms = now;
	send_message(r, r->peer[i], MESSAGE_PING);
}

/* After a pause of this program its workers have left it, and others may
   have. */
static void
note_pause(struct relay *r, uint64_t now)
{
	if (!pause_excuse(&r->ticked_ms, now, r->options.lease_ms,
			  &r->heard_ms, &r->down_since_ms))
		return;
	dismiss_workers(r);
	for (size_t i = 0; r->forwarder && i < r->run.plan.servers; i++)
		r->server[i].silent_ms = 0;
}

static int
check_coordinator(const struct relay *r, uint64_t now, struct fail *f)
{
	const uint64_t most = r->options.timeout_ms;
	const bool up = r->session != SESSION_DOWN;

	if (!up && now - r->down_since_ms >= most)
		return fail(f, FAIL_PEER, "coordinator %s %s within %g s",
			    r->options.coordinator, r->run.model ?
			    "is gone and did not come back" :
			    "does not answer", (double)most / 1000);
	if (up && now - r->heard_ms >= most && now - r->heard_ms >=
	    r->options.lease_ms)
		return fail(f, FAIL_PEER, "coordinator %s hangs, last heard "
			    "%.1f s ago", r->options.coordinator,
			    (double)(now - r->heard_ms) / 1000);
	return 0;
}

/* Ask the coordinator to let us in, or whether it still knows us. */
static void
ask_coordinator(struct relay *r, uint64_t now)
{
	if (r->session == SESSION_DOWN ||
	    now - r->asked_ms < r->options.lease_ms / ASKS)
		return;
	r->asked_ms = now;
	if (r->session == SESSION_GREETED)
		hello(r, now);
	else
		send_message(r, r->coordinator, MESSAGE_PING);
}

/* Pushes wait for others for half a lease at most: a worker that comes later
   has died, or does not use the relay. */
static void
expire(struct relay *r, uint64_t now)
{
	if (!r->forwarder ||
	    now - r->expired_ms < r->options.lease_ms / ASKS)
		return;
	r->expired_ms = now;
	forwarder_expire(r->forwarder);
}

int
relay_tick(struct relay *r, uint64_t now, struct fail *f)
{
	note_pause(r, now);
	ask_coordinator(r, now);
	expire(r, now);
	for (size_t i = 0; r->forwarder && i < r->run.plan.servers; i++)
		ask_server(r, i, now);
	relay_flush(r);
	return check_coordinator(r, now, f);
}

bool
relay_stopped(const struct relay *r)
{
	return r->stopped;
}

bool
relay_is_alone(struct relay *r, uint64_t now)
{
	if (r->alone_ms == 0 || r->alone_reported ||
	    now - r->alone_ms < r->options.lease_ms)
		return false;
	r->alone_reported = true;
	return true;
}

void
relay_free(struct relay *r)
{
	if (!r)
		return;
	dismiss_workers(r);
	for (size_t i = 0; r->forwarder && i < r->run.plan.servers; i++) {
		if (r->server[i].up)
			send_message(r, r->peer[i], MESSAGE_BYE);
		if (r->server[i].endpoint)
			outbox_hang_up(r->outbox, r->peer[i]);
		free(r->server[i].endpoint);
	}
	if (r->session != SESSION_DOWN)
		send_message(r, r->coordinator, MESSAGE_BYE);
	forwarder_free(r->forwarder);
	free(r->server);
	free(r->peer);
	run_forget(&r->run);
	free(r);
}

const char *
relay_state(struct relay *r)
{
	const struct forwarder_counts n = r->forwarder ?
		forwarder_counts(r->forwarder) : (struct forwarder_counts){ 0 };

	snprintf(r->text, sizeof(r->text), "%zu workers, %llu pushes, %llu "
		 "pulls (%llu shared), %llu pushes in %llu sums, %llu "
		 "messages in %llu bundles",
		 r->workers.count, (unsigned long long)n.pushes,
		 (unsigned long long)n.pulls, (unsigned long long)n.shared,
		 (unsigned long long)n.summed, (unsigned long long)n.sums,
		 (unsigned long long)n.bundled,
		 (unsigned long long)n.bundles);
	return r->text;
}

/* ---- what always holds ---- */

const char *
relay_check(const struct relay *r)
{
	if (!r->forwarder)
		return r->workers.count > 0 ? "relay 6: a relay without a plan "
			"has no workers" : NULL;
	if (!has_all_servers(r) && (r->workers.count > 0 ||
				    forwarder_counts(r->forwarder).open > 0))
		return "relay 7: no push is held while a server is missing";
	return forwarder_check(r->forwarder);
}
