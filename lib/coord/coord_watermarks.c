/*
 * The low watermarks of servers: all steps below a server's low watermark have
 * ended there, or were given up, so the server can forget which steps it has.
 */
#include "coord/coord_watermarks.h"

#include "base/mem.h"
#include "coord/coord_rerun.h"

#include <stdlib.h>

#define MARK_STEPS	1024		/* MARK is sent after so many steps, */
#define MARK_MS		200		/* or after this time */

struct watermarks {
	uint64_t told;		/* the lowest that servers acknowledged */
	uint64_t ms;		/* when the last MARK was sent */
};

void
watermarks_init(struct coord *c)
{
	c->watermarks = mem_alloc(1, sizeof(*c->watermarks));
	c->watermarks->told = queue_watermark(c->queue);
}

void
watermarks_release(struct coord *c)
{
	free(c->watermarks);
}

void
watermarks_notify(struct coord *c, uint64_t now)
{
	struct message m = { .kind = MESSAGE_MARK };
	uint64_t moved = 0;

	if (c->phase != PHASE_RUN || fleet_asking(c->fleet, MESSAGE_MARK))
		return;
	for (size_t i = 0; i < c->o.servers; i++) {
		const uint64_t low = rerun_watermark(c, i);
		const uint64_t told = fleet_watermark(c->fleet, i);

		if (low > told && low - told > moved)
			moved = low - told;
	}
	if (c->replicas == c->replicas_told &&
	    (moved == 0 ||
	     (moved < MARK_STEPS && now - c->watermarks->ms < MARK_MS)))
		return;
	c->watermarks->ms = now;
	/* A low watermark never sinks: a server may have a higher one than a
	   coordinator that was started again knows of. */
	for (size_t i = 0; i < c->o.servers; i++)
		if (rerun_watermark(c, i) > fleet_watermark(c->fleet, i))
			fleet_set_watermark(c->fleet, i, rerun_watermark(c, i));
	m.mark.run = plan_run(&c->plan);
	m.mark.term = c->plan.term;
	m.mark.replicas = c->replicas;
	fleet_ask(c->fleet, &m);
}

void
watermarks_acknowledged(struct coord *c, const struct message *mark)
{
	c->replicas_told = mark->mark.replicas;
	watermarks_notified(c);
}

void
watermarks_notified(struct coord *c)
{
	c->watermarks->told = fleet_lowest_acked_watermark(c->fleet);
}

uint64_t
watermarks_lowest(const struct coord *c)
{
	return c->watermarks->told;
}

/* ---- what always holds ---- */

const char *
watermarks_check(const struct coord *c)
{
	for (size_t i = 0; c->phase == PHASE_RUN && i < c->o.servers; i++)
		if (c->watermarks->told > fleet_acked_watermark(c->fleet, i))
			return "coord 15: all servers have the watermark that "
				"is recorded for all";
	return NULL;
}
