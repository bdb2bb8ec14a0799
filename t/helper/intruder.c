/*
 * intruder - join a run without a key as a worker that computes nothing, and
 * push two attempts at each of these replicas of its first round to a server.
 *
 *	intruder COORDINATOR SERVER FIRST REPLICAS BYTES
 *
 * The pushes are to part 0, whose gradient has so many bytes.  Prints how many
 * pushes the server kept.
 */
#include "base/text.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "wire/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS	10000

static const struct cli_program program = {
	.name = "intruder", .kind = CLI_FILTER,
	.operands = "coordinator server first replicas bytes"
};

/* Waits until this peer is there (kind 0), or for a message of it that is of
   one of two kinds. */
static struct message
await(struct net *net, uint64_t peer, enum message_kind kind,
      enum message_kind other)
{
	const uint64_t end = clock_ms() + PATIENCE_MS;
	struct net_event e = { .kind = NET_NOTHING };
	struct fail f;

	while (clock_ms() < end) {
		net_next(net, &e);
		if (e.peer == peer && (kind ? e.kind == NET_MESSAGE &&
				       (e.message.kind == kind ||
					e.message.kind == other) :
				       e.kind == NET_UP))
			return e.message;
		if (e.kind == NET_NOTHING &&
		    net_wait(net, NULL, 0, 100, &f) < 0)
			cli_die(&f);
	}
	fail(&f, FAIL_PEER, "%s did not come", message_name(kind));
	cli_die(&f);
}

/* Dials a program as a worker of this run; an empty one: of none. */
static uint64_t
call(struct net *net, const char *endpoint, const struct frame *run,
     uint64_t term)
{
	struct message m = message_hello(ROLE_WORKER, WIRE_NONE,
					 clock_random(), term);
	uint64_t peer;
	struct fail f;

	m.blob = *run;
	if (net_dial(net, endpoint, &peer, &f) < 0)
		cli_die(&f);
	await(net, peer, 0, 0);
	net_send(net, peer, &m);
	await(net, peer, MESSAGE_WELCOME, MESSAGE_WELCOME);
	return peer;
}

/* Pushes; returns whether the server keeps it. */
static bool
push(struct net *net, uint64_t server, const struct message *m)
{
	net_send(net, server, m);
	return await(net, server, MESSAGE_VALUES, MESSAGE_REFUSED)
		.values.outcome == OUTCOME_STAGED;
}

int
main(int argc, char **argv)
{
	struct message plan, m = { .kind = MESSAGE_PUSH, .frames = 2 };
	struct net *net = net_new(PATIENCE_MS);
	uint64_t first, replicas, bytes, server, kept = 0;
	struct plan of = { 0 };
	const struct frame none = { 0 }, run = { of.run, PLAN_RUN, NULL };
	void *gradient;

	cli_begin(&program);
	if (argc != 6 || !text_uint(argv[3], &first) ||
	    !text_uint(argv[4], &replicas) || !text_uint(argv[5], &bytes))
		cli_usage("five arguments are wanted");
	server = call(net, argv[1], &none, 0);
	plan = await(net, server, MESSAGE_PLAN, MESSAGE_PLAN);
	memcpy(of.run, plan.blob.data, PLAN_RUN);
	server = call(net, argv[2], &run, plan.plan.term);
	gradient = calloc(1, bytes);
	m.push.run = plan_run(&of);
	m.push.term = plan.plan.term;
	m.push.plan = plan.plan.plan;
	m.push.step = plan.plan.step;
	m.push.examples = 1;
	m.frame[1] = (struct frame){ gradient, bytes, NULL };
	for (uint64_t k = first; k < first + replicas; k++)
		for (uint64_t a = 1; a <= 2; a++) {
			m.push.slot = k;
			m.push.attempt = a;
			m.request++;
			kept += push(net, server, &m);
		}
	free(gradient);
	printf("%llu\n", (unsigned long long)kept);
	net_free(net);
	return cli_end(0);
}
