#include "client/relay_link.h"

#include "base/mem.h"

#include <stdlib.h>

void
relay_link_init(struct relay_link *l, const struct plan *plan,
		struct outbox *outbox, uint64_t life)
{
	*l = (struct relay_link){ .plan = plan, .outbox = outbox,
				  .life = life };
}

void
relay_link_release(struct relay_link *l)
{
	const struct message bye = { .kind = MESSAGE_BYE };

	if (l->state >= LINK_ASKING)
		outbox_send(l->outbox, l->peer, &bye);
	if (l->state != LINK_NONE)
		outbox_hang_up(l->outbox, l->peer);
	free(l->endpoint);
	l->endpoint = NULL;
	l->state = LINK_NONE;
}

void
relay_link_set(struct relay_link *l, const struct message *m)
{
	const struct frame *at = &m->frame[0];
	struct fail none;

	if (l->state != LINK_NONE && m->relay.life == l->relay)
		return;
	relay_link_release(l);
	if (m->relay.life == 0 || m->frames == 0)
		return;
	l->endpoint = mem_text_n(at->data, at->size);
	l->relay = m->relay.life;
	if (outbox_dial(l->outbox, l->endpoint, &l->peer, &none) == 0)
		l->state = LINK_DOWN;
}

bool
relay_link_knows(const struct relay_link *l, uint64_t peer)
{
	return l->state != LINK_NONE && l->peer == peer;
}

bool
relay_link_is_open(const struct relay_link *l)
{
	return l->state == LINK_OPEN;
}

static void
greet(struct relay_link *l, uint64_t now)
{
	struct message m = message_hello(ROLE_WORKER, WIRE_NONE, l->life,
					 l->plan->term);

	m.blob = (struct frame){ l->plan->run, PLAN_RUN, NULL };
	l->state = LINK_ASKING;
	l->asked_ms = now;
	outbox_send(l->outbox, l->peer, &m);
}

void
relay_link_up(struct relay_link *l, uint64_t now)
{
	greet(l, now);
}

void
relay_link_down(struct relay_link *l)
{
	l->state = LINK_DOWN;
}

void
relay_link_renew(struct relay_link *l, uint64_t now)
{
	if (l->state >= LINK_ASKING)
		greet(l, now);
}

/* The WELCOME of an earlier term does not open the link in this one. */
static void
welcome(struct relay_link *l, const struct message *m)
{
	if (l->state == LINK_ASKING && m->welcome.role == ROLE_RELAY &&
	    m->welcome.term == l->plan->term)
		l->state = LINK_OPEN;
}

bool
relay_link_receive(struct relay_link *l, const struct message *m)
{
	l->silent_ms = 0;
	switch (m->kind) {
	case MESSAGE_WELCOME:
		welcome(l, m);
		return false;
	case MESSAGE_BYE:
		if (l->state == LINK_OPEN)
			l->state = LINK_ASKING;
		return false;
	case MESSAGE_VALUES:
	case MESSAGE_REFUSED:
		return l->state == LINK_OPEN;
	default:
		return false;
	}
}

void
relay_link_skip_pause(struct relay_link *l, uint64_t now)
{
	if (l->silent_ms > 0)
		l->silent_ms = now;
}

void
relay_link_tick(struct relay_link *l, uint64_t now, uint64_t lease_ms)
{
	const struct message ping = { .kind = MESSAGE_PING };

	if (l->state == LINK_OPEN && l->silent_ms > 0 &&
	    now - l->silent_ms >= lease_ms / 2)
		l->state = LINK_ASKING;
	if (l->state < LINK_ASKING || now - l->asked_ms < lease_ms / 4)
		return;
	if (l->state == LINK_ASKING) {
		greet(l, now);
		return;
	}
	l->asked_ms = now;
	if (l->silent_ms == 0)
		l->silent_ms = now;
	outbox_send(l->outbox, l->peer, &ping);
}
