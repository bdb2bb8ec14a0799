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
#define MAX_REDO_ERRORS	5

void
recover_init(struct coord *c)
{
	c->redo = mem_alloc(c->o.servers, sizeof(*c->redo));
	c->lost = mem_alloc(c->o.servers, sizeof(*c->lost));
	c->gone_told = mem_alloc(c->o.servers, sizeof(*c->gone_told));
	snprintf(c->base.name, sizeof(c->base.name), "%s", c->o.restore);
	c->base.step = queue_mark(c->queue);
}

void
recover_release(struct coord *c)
{
	for (size_t i = 0; c->redo && i < c->o.servers; i++)
		redo_release(&c->redo[i]);
	free(c->redo);
	free(c->lost);
	free(c->gone_told);
	history_release(&c->history);
}

void
recover_begin(struct coord *c)
{
	if (c->phase >= PHASE_STOP)
		return;
	workers_withdraw(c);
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

/* What a server has to do again; all of them together in rounds. */
static struct redo *
redo_of(const struct coord *c, size_t server)
{
	return &c->redo[c->o.mode == MODE_SYNC ? 0 : server];
}

static void
add_ended(const struct coord *c, uint64_t from, struct ranges *to)
{
	const struct ranges *voided = &c->history.voided;
	const uint64_t mark = queue_mark(c->queue);

	if (mark > from)
		ranges_add(to, from, mark - from);
	for (uint64_t s = mark > from ? mark : from;
	     s < queue_next(c->queue); s++)
		if (!queue_step(c->queue, s))
			ranges_add(to, s, 1);
	for (size_t i = 0; i < voided->count; i++)
		ranges_remove(to, voided->range[i].first,
			      voided->range[i].end - voided->range[i].first);
}

/* The steps that have ended and that this server has not, by what it said; but
   one that is to go back to the checkpoint has none behind that. */
static void
find_lacking(const struct coord *c, size_t server, struct ranges *to)
{
	const struct standing *s = fleet_standing(c->fleet, server);
	const bool holds = fleet_holds(c->fleet, server);
	const uint64_t from = holds ? s->mark : c->back.step;
	uint64_t first = from, end;

	add_ended(c, from, to);
	while (holds && first < from + 8 * s->bytes) {
		for (end = first; standing_has(s, end); end++)
			;
		if (end > first)
			ranges_remove(to, first, end - first);
		first = end + 1;
	}
}

/* Of rounds that have ended, and are not to be run again anyway. */
static bool
lacks_rounds(const struct coord *c, size_t server)
{
	const struct ranges *todo = &c->redo[0].todo;
	struct ranges lacking = { 0 };
	bool any;

	add_ended(c, fleet_standing(c->fleet, server)->round, &lacking);
	for (size_t i = 0; i < todo->count; i++)
		ranges_remove(&lacking, todo->range[i].first,
			      todo->range[i].end - todo->range[i].first);
	any = lacking.count > 0;
	ranges_release(&lacking);
	return any;
}

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
		return s->round >= c->back.step && !lacks_rounds(c, server);
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
	m.cut.run = coord_run(c);
	m.cut.term = c->plan.term;
	m.cut.cut = WIRE_NONE;
	m.cut.step = c->back.step;
	m.cut.part = c->back.ours ? coord_run(c) : 0;
	m.cut.parts = c->o.servers;
	m.blob = (struct frame){ c->back.name, strlen(c->back.name), NULL };
	fleet_ask(c->fleet, &m);
	c->phase = PHASE_LOAD;
	return true;
}

void
recover_note(struct coord *c, uint64_t first)
{
	struct lease_terms l;

	for (; first < queue_next(c->queue); first++) {
		queue_asked(c->queue, first, &l);
		history_add(&c->history, &(struct asked_of){
			first, l.batch, l.learning_rate, l.place });
	}
	journal_streams(c);
}

/*
 * What it lacks is run again for it.  How many steps are that, besides those
 * that were to be anyway?
 */
static uint64_t
fill_redo(struct coord *c, size_t server)
{
	struct redo *r = redo_of(c, server);
	struct ranges more = { 0 }, before = r->todo;
	const struct ranges *todo = &r->todo;
	uint64_t again;

	if (c->o.mode == MODE_SYNC &&
	    (server > 0 || fleet_holds(c->fleet, server)))
		return ranges_total(&r->todo);
	r->todo = (struct ranges){ 0 };
	redo_release(r);
	find_lacking(c, server, &r->todo);
	for (size_t i = 0; i < todo->count; i++)
		ranges_add(&more, todo->range[i].first, todo->range[i].end -
			   todo->range[i].first);
	for (size_t i = 0; fleet_holds(c->fleet, server) && i < before.count;
	     i++)
		ranges_remove(&more, before.range[i].first,
			      before.range[i].end - before.range[i].first);
	again = ranges_total(&more);
	c->run_again += again;
	ranges_release(&more);
	ranges_release(&before);
	return again;
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
		const uint64_t again = fill_redo(c, i);

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
	c->mark_told = recover_told(c);
	if (c->phase < PHASE_STOP)	/* that cannot be kept */
		c->phase = PHASE_RUN;
}

uint64_t
recover_told(const struct coord *c)
{
	uint64_t told = UINT64_MAX;

	for (size_t i = 0; i < c->o.servers; i++)
		if (fleet_marked(c->fleet, i) < told)
			told = fleet_marked(c->fleet, i);
	return told;
}

uint64_t
recover_mark(const struct coord *c, size_t server)
{
	const uint64_t mark = queue_mark(c->queue);
	const uint64_t redo = redo_mark(redo_of(c, server));

	return redo < mark ? redo : mark;
}

bool
recover_idle(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		if (!redo_idle(&c->redo[i]))
			return false;
	return true;
}

bool
recover_lease(struct coord *c, void *worker, struct lease_terms *l,
	      uint64_t *server)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		const struct ranges *todo = &c->redo[i].todo;
		uint64_t limit = fleet_marked(c->fleet, i) + WINDOW, until;
		struct asked_of asked;

		if (todo->count == 0)
			continue;
		asked = history_of(&c->history, todo->range[0].first, &until);
		if (until < limit)
			limit = until;
		*l = (struct lease_terms){ .batch = asked.batch,
			.learning_rate = asked.learning_rate,
			.place = asked.place +
				(todo->range[0].first - asked.first) };
		l->count = redo_lease(&c->redo[i], worker,
				      data_run(c, l->place), limit,
				      &l->first);
		*server = i;
		if (l->count > 0)
			return true;
	}
	return false;
}

void
recover_ended(struct coord *c, size_t server, uint64_t step)
{
	redo_end(&c->redo[server], step);
	if (redo_idle(&c->redo[server]))
		journal_servers(c, false);
}

void
recover_return(struct coord *c, const void *worker)
{
	for (size_t i = 0; i < c->o.servers; i++)
		redo_return(&c->redo[i], worker);
}

/*
 * A step that went well once fails when it is run again.  Others may have
 * data that are better, but not for ever.
 */
void
recover_failed(struct coord *c, uint64_t step, uint64_t server,
	       const struct fail *why, uint64_t now)
{
	struct fail f = *why;

	if (++c->redo_errors < MAX_REDO_ERRORS)
		return;
	if (server == WIRE_NONE)
		fail_at(&f, "step %llu, run again", (unsigned long long)step);
	else
		fail_at(&f, "step %llu, run again for server %llu",
			(unsigned long long)step, (unsigned long long)server);
	end_fail(c, &f, now);
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
