#include "host.h"
#include "trace.h"

#include "base/mem.h"
#include "relay/relay.h"

#include <stdio.h>
#include <stdlib.h>

struct host_relay {
	struct relay *relay;
	char endpoint[16], site[16];
	struct fail why;
};

struct host_relay *
host_relay_new(const struct site *site, struct outbox *outbox, size_t index,
	       const char *endpoint, uint64_t life, uint64_t now)
{
	const struct scenario *s = site->scenario;
	struct host_relay *h = mem_alloc(1, sizeof(*h));
	struct relay_options o = {
		.coordinator = "node:0", .timeout_ms = s->o.timeout_ms,
		.lease_ms = s->o.lease_ms, .life = life,
		.endpoint = h->endpoint, .site = h->site
	};

	snprintf(h->endpoint, sizeof(h->endpoint), "%s", endpoint);
	snprintf(h->site, sizeof(h->site), "site-%d",
		 (int)s->relay_site[index] % 100);
	h->relay = relay_new(&o, outbox, now, &h->why);
	return h;
}

void
host_relay_free(struct host_relay *h)
{
	trace("relayed: %s", relay_state(h->relay));
	relay_free(h->relay);
	free(h);
}

static int
status(struct host_relay *h, int r)
{
	if (r < 0)
		trace("dies: %s", h->why.text);
	return r < 0 ? (int)h->why.kind :
		relay_stopped(h->relay) ? 0 : HOST_RUNS;
}

int
host_relay_receive(struct host_relay *h, const struct packet *p, uint64_t now)
{
	int r = 0;

	if (p->kind == PACKET_UP)
		relay_up(h->relay, p->peer, now);
	else if (p->kind == PACKET_DOWN)
		relay_down(h->relay, p->peer, now);
	else if (p->kind == PACKET_LEFT)
		relay_left(h->relay);
	else if (p->kind == PACKET_MESSAGE)
		r = relay_receive(h->relay, p->peer, &p->message, now,
				  &h->why);
	return status(h, r);
}

int
host_relay_act(struct host_relay *h, uint64_t now)
{
	relay_flush(h->relay);
	return status(h, relay_tick(h->relay, now, &h->why));
}

const struct fail *
host_relay_why(const struct host_relay *h)
{
	return &h->why;
}

const char *
host_relay_check(const struct host_relay *h)
{
	return relay_check(h->relay);
}
