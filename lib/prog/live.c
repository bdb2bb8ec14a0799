#include "prog/live.h"

#include "base/mem.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/net.h"

#include <stdlib.h>

#define LEASE_MS	10000
#define TICK_MS		250

struct live {
	struct net *net;
	struct outbox outbox;
	struct evaluator *evaluator;
	const char *coordinator;
};

struct live *
live_open(const struct evaluator_options *o, const char *key, struct fail *f)
{
	struct live *l = mem_alloc(1, sizeof(*l));

	l->net = net_new(LEASE_MS);
	l->outbox = net_outbox(l->net);
	l->coordinator = o->coordinator;
	if (net_guard(l->net, key, f) == 0)
		l->evaluator = evaluator_new(o, &l->outbox, clock_ms(), f);
	if (l->evaluator)
		return l;
	live_close(l);
	return NULL;
}

void
live_close(struct live *l)
{
	if (!l)
		return;
	evaluator_free(l->evaluator);
	net_leave(l->net);
	free(l);
}

static int
receive(struct live *l, struct fail *f)
{
	struct evaluator *ev = l->evaluator;
	struct net_event e;

	for (net_next(l->net, &e); e.kind != NET_NOTHING;
	     net_next(l->net, &e)) {
		if (e.kind == NET_UP)
			evaluator_up(ev, e.peer, clock_ms());
		else if (e.kind == NET_DOWN)
			evaluator_down(ev, e.peer, clock_ms());
		else if (e.kind == NET_MESSAGE &&
			 evaluator_receive(ev, e.peer, &e.message, clock_ms(),
					   f) < 0)
			return -1;
	}
	return evaluator_tick(ev, clock_ms(), f);
}

int
live_wait(struct live *l, int fd, struct fail *f)
{
	struct pollfd fds[] = {
		{ .fd = cli_stop_fd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN }
	};

	if (net_wait(l->net, fds, 2, TICK_MS, f) == 0 && receive(l, f) == 0)
		return 0;
	net_explain_failure(l->net, l->coordinator, f);
	return -1;
}

const struct model *
live_model(struct live *l, struct fail *f)
{
	while (!evaluator_model(l->evaluator) && !cli_stop)
		if (live_wait(l, -1, f) < 0)
			return NULL;
	return evaluator_model(l->evaluator);
}

int
live_step(struct live *l, uint64_t *step, struct fail *f)
{
	while (!evaluator_has_cut(l->evaluator, step) && !cli_stop)
		if (live_wait(l, -1, f) < 0)
			return -1;
	return 0;
}

int
live_fill(struct live *l, struct compute *compute, struct fail *f)
{
	if (evaluator_pull(l->evaluator, compute, clock_ms(), f) < 0)
		return -1;
	while (!evaluator_is_idle(l->evaluator) && !cli_stop)
		if (live_wait(l, -1, f) < 0)
			return -1;
	return 0;
}
