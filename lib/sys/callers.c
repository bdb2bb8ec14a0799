#include "sys/callers.h"

#include "base/log.h"

#define QUIET_MS	10000	/* after a warning */

static void
tell(struct callers *c, const struct fail *why, uint64_t now)
{
	const uint64_t left_out = ration_left_out(&c->told, now);

	if (left_out > 0)
		log_info("refused: %llu more", (unsigned long long)left_out);
	if (ration_take(&c->told, now))
		log_info("refused: %s", why->text);
}

void
callers_note(struct callers *c, const struct net_event *e, uint64_t now)
{
	struct fail why;

	if (e->kind == NET_GARBAGE)
		tell(c, &e->why, now);
	if (e->kind != NET_MESSAGE || e->message.kind != MESSAGE_HELLO ||
	    message_check_hello(&e->message, &why) == 0)
		return;
	if (now < c->next_ms) {
		tell(c, &why, now);
		return;
	}
	c->next_ms = now + QUIET_MS;
	log_warn("refused: %s", why.text);
}
