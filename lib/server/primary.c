#include "server/primary.h"

#include <string.h>

void
primary_hello(const struct primary *w, uint64_t life, uint64_t index,
	     uint64_t term, const struct frame *run, struct outbox *outbox)
{
	struct message m = { .kind = MESSAGE_HELLO, .request = PRIMARY_HELLO,
			     .blob = *run, .frames = 1 };

	m.hello.version = WIRE_VERSION;
	m.hello.role = w->promoted ? ROLE_SERVER : ROLE_STANDBY;
	m.hello.index = index;
	m.hello.life = life;
	m.hello.term = term;
	m.frame[0] = (struct frame){ w->endpoint, strlen(w->endpoint), NULL };
	outbox_send(outbox, w->peer, &m);
}

void
primary_hold(struct primary *w, uint64_t number, struct outbox *outbox)
{
	struct message m = { .kind = MESSAGE_HELD };

	if (!w->synced || number == w->held)
		return;
	m.held.number = w->held = number;
	outbox_send(outbox, w->peer, &m);
}
