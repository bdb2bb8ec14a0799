/*
 * The steps that the coordinator gives up: all that are under way, for an
 * error or at the end; or a single one, which kills its workers.  The servers
 * are told first (VOID), and refuse them from then on.
 *
 *	none --void_begin()--> cancelling	(workers end what they are at)
 *	cancelling --void_tell()--> voiding	(servers are told)
 *	voiding --answered(), void_done()--> none
 *	cancelling, voiding --go_on(), void_done()--> none	(a new term)
 *	cancelling, voiding --void_give_up()--> none	(the run ends)
 *
 *	none --void_set_aside()--> setting aside --void_aside_done()--> none
 */
#include "coord/coord_inside.h"

#include <string.h>

/* ---- all of them ---- */

static void
report_failed_step(struct coord *c)
{
	report_error(c, c->failed_id, "train", c->failed_step,
		     c->failed_worker, c->step_error.text);
	c->failed_steps++;
	if (queue_step(c->queue, c->failed_step))
		journal_void(c, c->failed_step);
	queue_end(c->queue, c->failed_step);
}

void
void_give_up(struct coord *c)
{
	if (c->failing)
		report_failed_step(c);
	c->failing = c->cancelling = c->voiding = false;
	journal_ending(c);
	while (!queue_idle(c->queue)) {
		journal_dropped(c, queue_cancel(c->queue, report_cancelled,
						c));
		if (queue_barrier(c->queue)) {
			report_passed_over(c, queue_barrier(c->queue));
			journal_pass(c);
		}
	}
	report_given_up(c);
}

/* Which ones are void, and which of them another step can read: kept. */
static void
decide(struct coord *c)
{
	c->voiding = true;
	if (!c->rounds && c->o.ledger)
		queue_unlease(c->queue);
	journal_voiding(c, queue_mark(c->queue), queue_next(c->queue) -
			queue_mark(c->queue), 0, cut_lacks(c));
}

/*
 * Steps above the mark that have ended are among those that servers are to
 * refuse: one that lacks some is given them first.  Rounds end in order.
 */
static bool
lacks_any(const struct coord *c)
{
	return c->o.mode != MODE_SYNC && !rerun_idle(c);
}

/*
 * What came back may have been pushed, by one who is gone or in an earlier
 * term: servers would have steps of which nobody was told.  So it is done, as
 * long as there is anybody to do it; when the coordinator has been started
 * again, workers are yet to come.
 */
bool
void_finishes(const struct coord *c)
{
	const bool early = !c->started &&
		c->now_ms - c->began_ms < c->o.timeout_ms;

	return c->cancelling && !c->voiding && !c->rounds &&
		data_ready(c) && !lease_cancelling(c) &&
		queue_returned(c->queue) > 0 &&
		(early || workers_can(c, REQUEST_TRAIN));
}

/*
 * What workers were at when they were told has been done by then, and counts;
 * only what is left is void: what servers are to refuse, and nobody has
 * pushed.  What nobody has begun another step can read.
 */
void
void_tell(struct coord *c)
{
	struct message m = { .kind = MESSAGE_VOID };

	if (!c->cancelling || c->voiding || c->committing ||
	    lease_cancelling(c) || lacks_any(c) || void_finishes(c) ||
	    lease_held(c))
		return;
	decide(c);
	m.voided.run = plan_run(&c->plan);
	m.voided.term = c->plan.term;
	m.voided.first = queue_mark(c->queue);
	m.voided.count = queue_next(c->queue) - queue_mark(c->queue);
	if (c->phase < PHASE_STOP)
		fleet_ask(c->fleet, &m);
}

/*
 * The next number to the step whose turn it is.  An epoch at the front, which
 * the coordinator before us had begun, begins: steps of it may be on servers.
 */
bool
void_give_number(struct coord *c)
{
	const struct request *r = queue_barrier(c->queue);
	struct lease_terms l;
	uint64_t left;

	if (r && r->op == REQUEST_EPOCH && data_ready(c) &&
	    !queue_begun(c->queue, &left))
		data_begin_epoch(c, c->now_ms);
	return queue_give(c->queue, &l);
}

void
void_begin(struct coord *c)
{
	const uint64_t next = queue_next(c->queue);

	c->cancelling = true;
	c->voiding = false;
	if (c->committing)
		return;		/* that round ends first; sync_committed() */
	if (c->rounds)
		rounds_reset(c->rounds, true);
	/* No other step may have the number of one that a server has. */
	while (queue_next(c->queue) < fleet_above(c->fleet) &&
	       void_give_number(c))
		;
	rerun_record(c, next);
	lease_cancel(c, queue_mark(c->queue),
		     queue_next(c->queue) - queue_mark(c->queue));
	if (!c->rounds) {
		if (c->failing)
			queue_set_aside(c->queue, c->failed_step);
		queue_return_again(c->queue, fleet_above(c->fleet));
	}
	void_tell(c);
}

void
void_done(struct coord *c)
{
	if (!c->voiding)	/* a new term came first */
		decide(c);
	for (uint64_t s = queue_mark(c->queue); s < queue_next(c->queue); s++)
		if (queue_step(c->queue, s))
			rerun_void(c, s);
	cut_spoil(c);
	c->cancelling = c->voiding = false;
	if (c->failing) {
		report_failed_step(c);
		end_error(c, &c->step_error);
	}
	c->failing = false;
	if (c->stopping)
		journal_ending(c);
	journal_dropped(c, queue_cancel(c->queue, report_cancelled, c));
	report_given_up(c);
}

/* ---- one that is set aside ---- */

static void
ask_aside(struct coord *c, uint64_t step)
{
	const struct step *s = queue_step(c->queue, step);
	const struct member *worker = s->worker;
	struct message m = { .kind = MESSAGE_VOID };

	c->setting_aside = true;
	c->aside = step;
	c->aside_deaths = s->deaths;
	memcpy(c->aside_worker, worker->name, sizeof(c->aside_worker));
	m.voided.run = plan_run(&c->plan);
	m.voided.term = c->plan.term;
	m.voided.first = step;
	m.voided.count = 1;
	journal_voiding(c, step, 1, s->deaths, false);
	if (c->phase >= PHASE_STOP)
		return;
	fleet_ask(c->fleet, &m);
}

void
void_aside_done(struct coord *c)
{
	const struct step *s = queue_step(c->queue, c->aside);
	struct fail why;

	c->setting_aside = false;
	if (!s || c->cancelling)
		return;		/* it was given up with all others */
	fail(&why, FAIL_DATA, "set aside: %llu workers died under it",
	     (unsigned long long)c->aside_deaths);
	report_error(c, queue_id(c->queue, c->aside), "train", c->aside,
		     c->aside_worker, why.text);
	c->aside_steps++;
	rerun_void(c, c->aside);
	journal_void(c, c->aside);
	queue_end(c->queue, c->aside);
	if (c->status == 0) {
		c->status = FAIL_DATA;
		fail_at(&why, "step %llu", (unsigned long long)c->aside);
		c->failure = why;
	}
	/* More than one may have been found meanwhile. */
	for (uint64_t i = queue_mark(c->queue); i < queue_next(c->queue); i++)
		if ((s = queue_step(c->queue, i)) &&
		    s->state == STEP_SET_ASIDE) {
			ask_aside(c, i);
			return;
		}
}

void
void_set_aside(struct coord *c, uint64_t step)
{
	if (!c->setting_aside && c->phase == PHASE_RUN)
		ask_aside(c, step);
}
