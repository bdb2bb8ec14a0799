/*
 * The coordinator's scheduler for async, where steps do not wait for each
 * other, and ssp, where they wait only for steps that are far behind.  One
 * worker runs the whole of a step.
 */
#include "coord/coord_data.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_private.h"
#include "coord/coord_rerun.h"
#include "coord/scheduler.h"
#include "wire/result.h"

static void
do_nothing(struct coord *c)
{
	(void)c;
}

/* Leases steps to the worker: steps that a server lacks first.  false: there is
   nothing to lease now. */
static bool
lease_to(struct coord *c, struct member *w, const struct lease_room *room)
{
	struct leased *lease;
	struct lease_terms terms;
	struct message m;

	const uint64_t next = queue_next(c->queue);
	uint64_t server = WIRE_NONE;

	if (!rerun_lease(c, w, &terms, &server) &&
	    (!room->fresh ||
	     (c->o.samplers ? data_lease(c, w, room->limit, room->any, &terms) :
	      queue_lease(c->queue, w, c->o.pack, room->limit,
			  &terms)) == 0))
		return false;
	if (!rerun_record(c, next))
		return false;
	lease = lease_add(c, w, !lease_has_any(c, w));
	lease->unfinished = lease->count = terms.count;
	lease->first = terms.first;
	lease->server = server;
	if (server == WIRE_NONE && terms.attempt > 1)
		lease_retry(c, terms.count);
	m = lease_describe(c, lease, &terms);
	m.lease.attempt = terms.attempt;
	m.lease.pass = terms.pass;
	m.lease.more = terms.more;
	lease->dropped = !outbox_reaches(c->outbox, w->peer, &m);
	return true;
}

static bool
lease_next(struct coord *c, const struct lease_room *room)
{
	struct member *w = lease_turn(c);

	if (!w)
		return false;
	if (lease_to(c, w, room))
		return true;
	if ((w = queue_held_up(c->queue)))
		lease_falls_behind(c, w);
	return false;
}

/*
 * A step counts when it is first reported done: the servers have acknowledged
 * all of its parts.  Later results of the step, from other attempts, do not
 * count.
 */
static enum accepted
accept_result(struct coord *c, struct member *w, uint64_t lease,
	      const struct result *r, const float *scores,
	      const unsigned char *positive)
{
	(void)scores, (void)positive;
	if (r->step != queue_watermark(c->queue))
		lease_keeps_up(c, w);
	lease_progress(c, w, lease);
	return queue_step(c->queue, r->step) && !r->voided ? ACCEPTED_STEP :
		ACCEPTED_NOT;
}

static void
ignore_returned(struct coord *c, struct member *w, uint64_t lease)
{
	(void)c, (void)w, (void)lease;
}

static bool
counts(struct coord *c, struct member *w, uint64_t lease)
{
	(void)c, (void)w, (void)lease;
	return true;
}

static void
lose(struct coord *c, const struct member *w)
{
	(void)c, (void)w;
}

static bool
never_waits(const struct coord *c, const struct leased *l)
{
	(void)c, (void)l;
	return false;
}

static bool
always_false(const struct coord *c)
{
	(void)c;
	return false;
}

static bool
busy(const struct coord *c)
{
	return rerun_running(c) || queue_running(c->queue) > 0;
}

static bool
resume(struct coord *c)
{
	(void)c;
	return false;
}

const struct scheduler scheduler_async = {
	.begin = do_nothing,
	.lease = lease_next,
	.accept = accept_result,
	.release = ignore_returned,
	.counts = counts,
	.lose = lose,
	.waits = never_waits,
	.rounds = always_false,
	.commit = do_nothing,
	.committing = always_false,
	.running = always_false,
	.busy = busy,
	.give_up = do_nothing,
	.reset = do_nothing,
	.resume = resume,
	.go_back = do_nothing,
	.retried = lease_retried
};
