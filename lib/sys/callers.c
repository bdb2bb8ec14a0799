#include "sys/callers.h"

#include "base/log.h"

#define QUIET_MS	10000	/* after a warning */

void
callers_note(struct callers *c, const struct net_event *e, uint64_t now)
{
	struct fail why;

	if (e->kind == NET_GARBAGE)
		log_info("refused: %s", e->why.text);
	if (e->kind != NET_MESSAGE || e->message.kind != MESSAGE_HELLO ||
	    message_check_hello(&e->message, &why) == 0)
		return;
	if (now < c->next_ms) {
		log_info("refused: %s", why.text);
		return;
	}
	c->next_ms = now + QUIET_MS;
	log_warn("refused: %s", why.text);
}
