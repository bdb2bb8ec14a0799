/*
 * The marks of servers: all steps below one have ended there, or are void, so
 * the server can forget which ones they were.
 */
#include "coord/coord_marks.h"

#include "base/mem.h"
#include "coord/coord_rerun.h"

#include <stdlib.h>

#define MARK_STEPS	1024		/* steps between two marks */
#define MARK_MS		200		/* or this long */

struct marks {
	uint64_t told;		/* all servers have it */
	uint64_t ms;		/* when one was sent */
};

void
marks_init(struct coord *c)
{
	c->marks = mem_alloc(1, sizeof(*c->marks));
	c->marks->told = queue_mark(c->queue);
}

void
marks_release(struct coord *c)
{
	free(c->marks);
}

void
marks_tell(struct coord *c, uint64_t now)
{
	struct message m = { .kind = MESSAGE_MARK };
	uint64_t moved = 0;

	if (c->phase != PHASE_RUN || fleet_asking(c->fleet, MESSAGE_MARK))
		return;
	for (size_t i = 0; i < c->o.servers; i++) {
		const uint64_t mark = rerun_mark(c, i);
		const uint64_t told = fleet_mark(c->fleet, i);

		if (mark > told && mark - told > moved)
			moved = mark - told;
	}
	if (moved == 0 || (moved < MARK_STEPS && now - c->marks->ms < MARK_MS))
		return;
	c->marks->ms = now;
	/* One that is further on than a resumed run knows keeps its mark. */
	for (size_t i = 0; i < c->o.servers; i++)
		if (rerun_mark(c, i) > fleet_mark(c->fleet, i))
			fleet_set_mark(c->fleet, i, rerun_mark(c, i));
	m.mark.run = plan_run(&c->plan);
	m.mark.term = c->plan.term;
	fleet_ask(c->fleet, &m);
}

void
marks_told(struct coord *c)
{
	c->marks->told = fleet_marked_by_all(c->fleet);
}

uint64_t
marks_least(const struct coord *c)
{
	return c->marks->told;
}

/* ---- what always holds ---- */

const char *
marks_check(const struct coord *c)
{
	for (size_t i = 0; c->phase == PHASE_RUN && i < c->o.servers; i++)
		if (c->marks->told > fleet_marked(c->fleet, i))
			return "coord 15: all servers have the mark that all "
				"are said to have";
	return NULL;
}
