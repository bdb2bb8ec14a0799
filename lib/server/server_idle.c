#include "server/server_inside.h"

/*
 * Time in which we did not look, as when we were stopped, is nobody's silence:
 * we could not have heard.
 */
void
server_look(struct server *s, uint64_t now)
{
	const uint64_t passed = s->looked_ms ? now - s->looked_ms : 0;

	if (s->looked_ms && passed < SERVER_LOOK_MS)
		return;
	s->looked_ms = now;
	s->idle_ms += passed < 2 * SERVER_LOOK_MS ? passed : SERVER_LOOK_MS;
	/* Those who stand by for us have no coordinator, as long as we do. */
	if (s->needed || s->kept) {
		server_ping_standbys(s);
		s->idle_ms = 0;
	}
	s->needed = false;
}

int
server_check_idle(const struct server *s, uint64_t limit_ms,
		  const char *coordinator, struct fail *f)
{
	const double seconds = (double)limit_ms / 1000;
	const char *name = coordinator ? coordinator : "";
	const char *space = coordinator ? " " : "";

	if (limit_ms == 0 || s->idle_ms < limit_ms)
		return 0;
	if (primary_followed(&s->primary))
		return fail(f, FAIL_PEER, "no coordinator has called for %g s, "
			    "and its primary %s is gone, or has none either: "
			    "it ends (--idle)", seconds, s->primary.at);
	if (s->coordinator)
		return fail(f, FAIL_PEER, "its coordinator%s%s has not been "
			    "heard for %g s: it ends (--idle)", space, name,
			    seconds);
	return fail(f, FAIL_PEER, "its coordinator%s%s has not called for "
		    "%g s: it ends (--idle)", space, name, seconds);
}
