/*
 * The coordinator's one recovery procedure, whatever it was that was lost:
 * nobody has a lease; all servers are there; a new term; the plan to all of
 * them; the newest checkpoint to those without their variables; the plan to
 * the workers; and what these servers lack is run again for them alone.
 */
#include "coord/coord_inside.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MENDING_MS	250	/* until a connection is there again, and */
#define MENDING_TRIPS	8	/* so many trips, at most; but no more than
				   a lease */

void
recover_init(struct coord *c)
{
	c->lost = mem_alloc(c->o.servers, sizeof(*c->lost));
	c->gone_told = mem_alloc(c->o.servers, sizeof(*c->gone_told));
	snprintf(c->base.name, sizeof(c->base.name), "%s", c->o.restore);
	c->base.step = queue_mark(c->queue);
}

void
recover_release(struct coord *c)
{
	free(c->lost);
	free(c->gone_told);
}

/* Nobody has anything any more; the next PLAN will tell them. */
static void
withdraw(struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next) {
		memset(m->lease, 0, c->o.in_flight * sizeof(*m->lease));
		evaluate_take_back(c, m);
		data_take_back(c, m);
		m->ready = m->wants_cut = m->cancelling = false;
		m->relieved = false;	/* a new term ends what it is at */
		m->cut = WIRE_NONE;
	}
	queue_return(c->queue, NULL);
	sync_reset(c);
	rerun_return(c, NULL);
}

void
recover_begin(struct coord *c)
{
	if (c->phase >= PHASE_STOP)
		return;
	withdraw(c);
	cut_give_up(c);
	fleet_forget(c->fleet);
	c->new_term = true;
	c->phase = PHASE_GREET;
}

void
recover_server(struct coord *c, size_t server, const char *endpoint,
	       uint64_t life, uint64_t now)
{
	struct fail why;

	if (c->phase >= PHASE_STOP)
		return;
	if (fleet_move(c->fleet, server, endpoint, life, now, &why) < 0)
		end_fail(c, &why, now);
}

void
recover_ask_plan(struct coord *c)
{
	struct message m = { .kind = MESSAGE_PLAN };

	if (c->new_term)
		c->plan.term++;
	if (c->new_term || c->term_unnoted)
		journal_term(c);
	c->new_term = c->term_unnoted = false;
	cut_begin_term(c);
	fleet_begin_term(c->fleet, c->plan.run, c->plan.term);
	standby_begin_term(c);
	/* Some endpoints are known only now that all are there. */
	for (size_t i = 0; i < c->plan.servers; i++) {
		free(c->plan.endpoint[i]);
		c->plan.endpoint[i] = mem_text(fleet_endpoint(c->fleet, i));
	}
	pack_reset(&c->plan_frame);
	plan_write(&c->plan_frame, &c->plan);
	m.plan.term = c->plan.term;
	m.plan.plan = c->plan.number;
	m.plan.seed = c->plan.seed;
	m.plan.step = c->base.step;
	m.plan.saves = !c->o.checkpoint ? SAVES_NONE :
		c->o.beside_journal ? SAVES_BESIDE_JOURNAL : SAVES;
	m.blob = (struct frame){ c->plan.run, PLAN_RUN, NULL };
	m.frames = 2;
	m.frame[0] = (struct frame){ c->model_frame.data,
				     c->model_frame.size, NULL };
	m.frame[1] = (struct frame){ c->plan_frame.data, c->plan_frame.size,
				     NULL };
	c->back = c->base;
	if (c->begun || c->resumed)	/* who is promised what */
		journal_servers(c, true);
	if (c->phase >= PHASE_STOP)	/* that cannot be kept */
		return;
	fleet_ask(c->fleet, &m);
	c->phase = PHASE_PLAN;
}

/* ---- what a server has, and what it lacks ---- */

/*
 * Can it go on with what it says that it has?  Not with initial values in the
 * place of a checkpoint; nor if it lacks steps of which nothing is known any
 * more, as they are in the checkpoint.
 */
static bool
can_go_on(const struct coord *c, size_t server)
{
	const struct standing *s = fleet_standing(c->fleet, server);
	uint64_t step = s->mark;

	if (s->initial && *c->back.name)
		return false;
	if (c->o.mode == MODE_SYNC)
		return s->round >= c->back.step &&
			!rerun_lacks_rounds(c, server);
	while (step < c->back.step && standing_has(s, step))
		step++;
	return step >= c->back.step;
}

/*
 * A server is believed nothing but what it says now: one that was to have all
 * may be back from a log that was cut short, or from an older one.
 */
static void
compare(struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		if (fleet_holds(c->fleet, i) && !can_go_on(c, i))
			fleet_lost(c->fleet, i);
	standby_compare(c);
}

/* Which ones have no variables; how many. */
static size_t
note_lost(struct coord *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->o.servers; i++) {
		c->lost[i] = !fleet_holds(c->fleet, i);
		count += c->lost[i];
	}
	return count;
}

/*
 * In a synchronous run what one has lost all do again, from the same state.
 * Nor can a coordinator that was started again know which servers had
 * committed the last round.
 */
static bool
all_go_back(const struct coord *c, size_t lost)
{
	return c->o.mode == MODE_SYNC &&
		((lost > 0 && lost < c->o.servers) ||
		 (lost == 0 && c->resumed && !c->begun));
}

/* Is there one to be told to?  Initial values came with the plan, unless it
   was there before. */
static bool
must_load(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		if (!fleet_holds(c->fleet, i) &&
		    (*c->back.name || !fleet_standing(c->fleet, i)->initial))
			return true;
	return false;
}

bool
recover_ask_load(struct coord *c)
{
	struct message m = { .kind = MESSAGE_LOAD };

	compare(c);
	if (all_go_back(c, note_lost(c)))
		c->all_back = true;
	for (size_t i = 0; c->all_back && i < c->o.servers; i++)
		fleet_lost(c->fleet, i);
	if (!c->all_back && !must_load(c))
		return false;
	m.cut.run = plan_run(&c->plan);
	m.cut.term = c->plan.term;
	m.cut.cut = WIRE_NONE;
	m.cut.step = c->back.step;
	m.cut.part = c->back.ours ? plan_run(&c->plan) : 0;
	m.cut.parts = c->o.servers;
	m.blob = (struct frame){ c->back.name, strlen(c->back.name), NULL };
	fleet_ask(c->fleet, &m);
	c->phase = PHASE_LOAD;
	return true;
}

static void
tell_back(struct coord *c, size_t i, uint64_t steps, uint64_t now)
{
	uint64_t heard;
	const uint64_t gone = fleet_gone(c->fleet, i, &heard);
	const double seconds = gone ? (double)(now - gone) / 1000 : 0;
	const char *at = fleet_endpoint(c->fleet, i);

	if (c->lost[i])
		report_warning(c, "server %zu (%s) is back after %.1f s "
			       "without its variables: %s%s, %llu steps are "
			       "run again", i, at, seconds, c->all_back ?
			       "all go back to " : "", *c->back.name ?
			       c->back.name : "initial values",
			       (unsigned long long)steps);
	else if (steps > 0 && c->o.mode != MODE_SYNC)
		report_warning(c, "server %zu (%s) is back after %.1f s with "
			       "less than it had acknowledged: %llu steps are "
			       "run again", i, at, seconds,
			       (unsigned long long)steps);
	else if (c->gone_told[i])
		report_warning(c, "server %zu (%s) is back after %.1f s", i,
			       at, seconds);
	c->gone_told[i] = false;
}

void
recover_end(struct coord *c, uint64_t now)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		const uint64_t again = rerun_fill(c, i, c->back.step);

		if (fleet_holds(c->fleet, i)) {
			fleet_stands(c->fleet, i);
		} else {
			if (c->o.mode == MODE_SYNC)
				sync_go_back(c);
			fleet_back(c->fleet, i, c->back.step);
			fleet_held(c->fleet, i);
		}
		if (c->begun || c->resumed || c->gone_told[i])
			tell_back(c, i, again, now);
		c->lost[i] = false;
	}
	c->all_back = false;
	journal_servers(c, true);	/* before a worker hears of them */
	fleet_returned(c->fleet);
	c->mark_told = fleet_marked_by_all(c->fleet);
	if (c->phase < PHASE_STOP)	/* that cannot be kept */
		c->phase = PHASE_RUN;
}

uint64_t
recover_mending(const struct coord *c)
{
	uint64_t longest = WIRE_NONE, mending;

	for (size_t i = 0; i < c->o.servers; i++) {
		const uint64_t trip[] = { fleet_trip(c->fleet, i),
					  standby_trip(c, i) };

		for (size_t k = 0; k < 2; k++)
			if (trip[k] != WIRE_NONE &&
			    (longest == WIRE_NONE || trip[k] > longest))
				longest = trip[k];
	}
	if (longest == WIRE_NONE || longest > c->o.lease_ms)
		return c->o.lease_ms;
	mending = MENDING_MS + MENDING_TRIPS * longest;
	return mending < c->o.lease_ms ? mending : c->o.lease_ms;
}

/* Who is gone is named at once, however long they are waited for. */
void
recover_watch(struct coord *c, uint64_t now)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		uint64_t heard;
		const uint64_t gone = fleet_gone(c->fleet, i, &heard);

		if (gone == 0)
			continue;
		if (fleet_present_at(c->fleet, i)) {
			/* It kept its variables, or recover_end() tells. */
			if (c->phase == PHASE_RUN) {
				tell_back(c, i, 0, now);
				fleet_returned(c->fleet);
			}
		} else if (!c->gone_told[i] && !standby_took_over(c, i) &&
			   now - gone >= recover_mending(c)) {
			c->gone_told[i] = true;
			report_warning(c, "server %zu (%s) %s: waiting %g s "
				       "for it", i,
				       fleet_endpoint(c->fleet, i),
				       fleet_hangs(c->fleet, i) ?
				       "hangs" : "is gone",
				       (double)c->o.patience_ms / 1000);
		}
	}
}
