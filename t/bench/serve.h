/* serve - a real ps-serve, the one on PATH, with the benchmark as its
   coordinator and its worker, so that the benchmark measures the program that
   a user runs. */
#ifndef PS_BENCH_SERVE_H
#define PS_BENCH_SERVE_H

#include "../unit/model_fixture.h"
#include "bench.h"
#include "client/client.h"
#include "sys/clock.h"
#include "sys/net.h"

struct serve {
	pid_t pid;
	char endpoint[256];
	struct model_fixture fixture;
	struct plan plan;
	struct net *net;
	struct outbox outbox;
	uint64_t coordinator;	/* the peer of our connection as a
				   coordinator */
	uint64_t worker;	/* the peer of our connection as a worker */
	uint64_t request;
};

static inline int
serve_port(const struct serve *s)
{
	return atoi(strrchr(s->endpoint, ':') + 1);
}

static inline void
serve_spawn(struct serve *s, enum bench_way way)
{
	int ready[2];
	ssize_t size;

	if (pipe(ready) < 0)
		bench_die("no pipe");
	s->pid = bench_fork();
	if (s->pid == 0) {
		dup2(ready[1], STDOUT_FILENO);
		execlp("ps-serve", "ps-serve", (char *)NULL);
		bench_die("there is no ps-serve in PATH");
	}
	close(ready[1]);
	size = read(ready[0], s->endpoint, sizeof(s->endpoint) - 1);
	if (size <= 1)
		bench_die("ps-serve does not start");
	s->endpoint[size - 1] = '\0';
	close(ready[0]);
	/* By its number, a host's own address is a short way to itself. */
	if (way == BENCH_TCP)
		snprintf(s->endpoint, sizeof(s->endpoint),
			 "tcp://localhost:%d", serve_port(s));
}

/* Waits for the next event. */
static inline void
serve_next(struct serve *s, struct net_event *e)
{
	struct fail f;

	for (net_next(s->net, e); e->kind == NET_NOTHING;
	     net_next(s->net, e))
		if (net_wait(s->net, NULL, 0, 10000, &f) < 0)
			bench_die("%s", f.text);
	if (e->kind == NET_GARBAGE || e->kind == NET_DOWN)
		bench_die("the server is gone");
	if (e->kind == NET_MESSAGE && e->message.kind == MESSAGE_REFUSED) {
		char text[MESSAGE_BLOB];

		message_text(&e->message, text, sizeof(text));
		bench_die("refused: %s", text);
	}
}

/* Waits for a message of this kind from this peer; other messages are
   dropped. */
static inline void
serve_await(struct serve *s, uint64_t peer, enum message_kind kind,
	    struct net_event *e)
{
	do
		serve_next(s, e);
	while (e->kind != NET_MESSAGE || e->peer != peer ||
	       e->message.kind != kind);
}

static inline uint64_t
serve_dial(struct serve *s, enum role role)
{
	struct message m = { .kind = MESSAGE_HELLO, .request = 1 };
	struct net_event e;
	struct fail f;
	uint64_t peer;

	if (net_dial(s->net, s->endpoint, &peer, &f) < 0)
		bench_die("%s", f.text);
	do
		serve_next(s, &e);
	while (e.kind != NET_UP || e.peer != peer);
	m.hello.version = WIRE_VERSION;
	m.hello.role = role;
	m.hello.index = WIRE_NONE;
	m.hello.life = 1;
	m.hello.term = s->plan.term;
	m.blob = (struct frame){ s->plan.run, PLAN_RUN, NULL };
	net_send(s->net, peer, &m);
	serve_await(s, peer, MESSAGE_WELCOME, &e);
	return peer;
}

static inline void
serve_plan(struct serve *s)
{
	struct pack model = { 0 }, plan = { 0 };
	struct message m = { .kind = MESSAGE_PLAN, .request = 2 };
	struct net_event e;

	plan_write_model(&model, &s->fixture.source);
	plan_write(&plan, &s->plan);
	m.plan.term = s->plan.term;
	m.plan.plan = s->plan.number;
	m.plan.seed = s->plan.seed;
	m.blob = (struct frame){ s->plan.run, PLAN_RUN, NULL };
	m.frames = 2;
	m.frame[0] = (struct frame){ model.data, model.size, NULL };
	m.frame[1] = (struct frame){ plan.data, plan.size, NULL };
	net_send(s->net, s->coordinator, &m);
	serve_await(s, s->coordinator, MESSAGE_OK, &e);
	pack_release(&model);
	pack_release(&plan);
}

/* Starts a server for a model, given as its text. */
static inline void
serve_begin(struct serve *s, const char *model, enum bench_way way)
{
	const struct partitioner whole = { .kind = PARTITION_NONE };
	char *endpoint = s->endpoint;
	struct place *place;
	size_t places;

	*s = (struct serve){ 0 };
	serve_spawn(s, way);
	fixture_begin(&s->fixture, model);
	place = partition_plan(s->fixture.variable, s->fixture.variables,
			       &whole, &placement_balanced, 1, &places);
	plan_make(&s->plan, s->fixture.model, place, places, &endpoint, 1);
	free(place);
	s->plan.number = s->plan.term = 1;
	memcpy(s->plan.run, "a bench's run id", PLAN_RUN);
	s->net = net_new(10000);
	s->outbox = net_outbox(s->net);
	s->coordinator = serve_dial(s, ROLE_COORDINATOR);
	serve_plan(s);
	s->worker = serve_dial(s, ROLE_WORKER);
}

/* STOP waits until all connections have ended: a server forgets a peer that
   left. */
static inline void
serve_end(struct serve *s)
{
	const struct message stop = { .kind = MESSAGE_STOP };
	struct net_event e;
	struct fail f;
	int status;

	net_send(s->net, s->coordinator, &stop);
	for (net_next(s->net, &e);
	     e.kind != NET_DOWN || e.peer != s->coordinator;
	     net_next(s->net, &e))
		if (e.kind == NET_NOTHING &&
		    net_wait(s->net, NULL, 0, 10000, &f) < 0)
			bench_die("%s", f.text);
	net_free(s->net);
	if (waitpid(s->pid, &status, 0) < 0 || status != 0)
		bench_die("ps-serve ended with %d", status);
	plan_release(&s->plan);
	fixture_end(&s->fixture);
}

/* Notifies the server that all steps below this one have ended. */
static inline void
serve_mark(struct serve *s, uint64_t step)
{
	struct message m = { .kind = MESSAGE_MARK };

	m.mark.run = plan_run(&s->plan);
	m.mark.term = s->plan.term;
	m.mark.step = step;
	net_send(s->net, s->coordinator, &m);
}

/* Returns a message with the fields that every push or pull of a part has. */
static inline struct message
serve_message(const struct serve *s, enum message_kind kind, uint64_t part,
	      uint64_t step)
{
	struct message m = { .kind = kind, .request = step };

	if (kind == MESSAGE_PULL) {
		m.pull.run = plan_run(&s->plan);
		m.pull.term = s->plan.term;
		m.pull.plan = s->plan.number;
		m.pull.part = part;
		m.pull.cut = WIRE_NONE;
		return m;
	}
	m.push.run = plan_run(&s->plan);
	m.push.term = s->plan.term;
	m.push.plan = s->plan.number;
	m.push.part = part;
	m.push.step = step;
	m.push.examples = 1;
	m.push.rate = message_float_bits(1e-6f);
	return m;
}

#endif
