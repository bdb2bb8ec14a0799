/*
 * ps-relay - pass on what the workers of one host or rack push and pull.
 */
#include "base/log.h"
#include "prog/relay_options.h"
#include "relay/relay.h"
#include "sys/callers.h"
#include "sys/clock.h"
#include "sys/net.h"

#define TICK_MS		250
#define TICKS		16	/* ticks in a lease, at least */

/* Everything that ps-relay has open. */
struct program {
	struct net *net;
	struct outbox outbox;
	struct relay *relay;
	struct callers callers;
	int64_t tick_ms;
};

static int
receive(struct program *p, struct fail *f)
{
	struct net_event e;

	for (net_next(p->net, &e); e.kind != NET_NOTHING;
	     net_next(p->net, &e)) {
		const uint64_t now = clock_ms();

		callers_note(&p->callers, &e, now);
		if (e.kind == NET_UP)
			relay_up(p->relay, e.peer, now);
		else if (e.kind == NET_DOWN)
			relay_down(p->relay, e.peer, now);
		else if (e.kind == NET_SOMEBODY_LEFT)
			relay_left(p->relay);
		else if (e.kind == NET_MESSAGE &&
			 relay_receive(p->relay, e.peer, &e.message, now,
				       f) < 0)
			return -1;
	}
	relay_flush(p->relay);
	return 0;
}

static int
relay(struct program *p, const char *site, struct fail *f)
{
	while (!cli_stop && !relay_stopped(p->relay)) {
		struct pollfd fd = { .fd = cli_stop_fd, .events = POLLIN };

		if (net_wait(p->net, &fd, 1, p->tick_ms, f) < 0 ||
		    receive(p, f) < 0 ||
		    relay_tick(p->relay, clock_ms(), f) < 0)
			return -1;
		if (relay_is_alone(p->relay, clock_ms()))
			log_warn("no worker of the site %s has come: it "
				 "waits (--site of ps-work)", site);
	}
	return 0;
}

static int
open_all(struct program *p, struct relay_settings *s, struct fail *f)
{
	p->net = net_new(s->relay.lease_ms);
	net_await_name(p->net, s->common.timeout_ms, cli_stop_fd);
	p->outbox = net_outbox(p->net);
	p->tick_ms = s->relay.lease_ms / TICKS < TICK_MS ?
		(int64_t)(s->relay.lease_ms / TICKS) + 1 : TICK_MS;
	if (net_guard(p->net, s->common.key, f) < 0 ||
	    net_listen(p->net, s->bind, s->common.insecure, f) < 0)
		return -1;
	s->relay.endpoint = net_endpoint(p->net);
	p->relay = relay_new(&s->relay, &p->outbox, clock_ms(), f);
	return p->relay ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct program p = { 0 };
	struct relay_settings s;
	struct fail f;

	cli_begin(&relay_program);
	relay_settings_read(&s, argc, argv);
	if (open_all(&p, &s, &f) < 0) {
		net_leave(p.net);
		if (cli_stop)
			return cli_end(0);
		cli_die(&f);
	}
	cli_ready(net_endpoint(p.net));
	cli_warn_open(&s.common, net_endpoint(p.net));
	log_info("listening on %s, for the site %s", net_endpoint(p.net),
		 s.relay.site);

	const int status = relay(&p, s.relay.site, &f);

	if (status < 0)
		net_explain_failure(p.net, s.relay.coordinator, &f);
	log_info("stopped: %s", relay_state(p.relay));
	relay_free(p.relay);
	net_leave(p.net);
	relay_settings_release(&s);
	if (status < 0)
		cli_die(&f);
	return cli_end(0);
}
