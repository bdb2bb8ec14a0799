/*
 * The coordinator's one recovery procedure, whatever it was that was lost:
 * nobody has a lease; all servers are there; a new term; the plan to all of
 * them; the newest checkpoint to those without their variables; the plan to
 * the workers; and what these servers lack is run again for them alone.
 */
#include "role/coord_inside.h"

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

/* A cut that was being made is lost with the servers that held it. */
static void
give_up_cut(struct coord *c)
{
	if (c->cut_state == CUT_NONE || c->cut_state == CUT_PUBLISH)
		return;
	if (!c->cut_for && c->cut_reached)
		c->save_again = true;
	else if (!c->cut_for)
		c->next_save = c->cut_step;
	c->final = false;
	c->cut_for = NULL;
	c->cut_state = CUT_NONE;
}

void
recover_begin(struct coord *c)
{
	if (c->phase >= PHASE_STOP)
		return;
	workers_withdraw(c);
	give_up_cut(c);
	fleet_forget(c->fleet);
	c->new_term = true;
	c->phase = PHASE_GREET;
}

void
recover_server(struct coord *c, size_t server, const char *endpoint,
	       bool holds, uint64_t now)
{
	struct fail why;

	if (c->phase >= PHASE_STOP)
		return;
	if (fleet_move(c->fleet, server, endpoint, holds, now, &why) < 0)
		end_fail(c, &why, now);
}

void
recover_ask_plan(struct coord *c)
{
	struct message m = { .kind = MESSAGE_PLAN };

	if (c->new_term) {
		c->plan.term++;
		journal_term(c);
	}
	c->new_term = false;
	c->cuts = (c->plan.term - 1) << 32;	/* no number comes twice */
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

/* Which ones have no variables; how many. */
static size_t
note_lost(struct coord *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->o.servers; i++) {
		if (!fleet_holds(c->fleet, i))
			c->lost[i] = true;
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

/* The initial values came with the plan. */
bool
recover_ask_load(struct coord *c)
{
	struct message m = { .kind = MESSAGE_LOAD };
	const size_t lost = note_lost(c);

	if (all_go_back(c, lost))
		c->all_back = true;
	for (size_t i = 0; c->all_back && i < c->o.servers; i++)
		fleet_lost(c->fleet, i);
	if (!c->all_back && (lost == 0 || !*c->back.name))
		return false;
	m.cut.run = coord_run(c);
	m.cut.term = c->plan.term;
	m.cut.cut = WIRE_NONE;
	m.cut.step = c->back.step;
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

/* What a server has to do again; all of them together in rounds. */
static struct redo *
redo_of(const struct coord *c, size_t server)
{
	return &c->redo[c->o.mode == MODE_SYNC ? 0 : server];
}

/* The steps that are done and that this server, back at the cut, lacks. */
static void
fill_redo(struct coord *c, struct redo *r)
{
	const struct ranges *voided = &c->history.voided;
	const uint64_t from = c->back.step, mark = queue_mark(c->queue);
	struct ranges *todo = &r->todo;

	redo_release(r);
	if (mark > from)
		ranges_add(todo, from, mark - from);
	for (uint64_t s = mark; s < queue_next(c->queue); s++)
		if (!queue_step(c->queue, s))
			ranges_add(todo, s, 1);
	for (size_t i = 0; i < voided->count; i++)
		ranges_remove(todo, voided->range[i].first,
			      voided->range[i].end - voided->range[i].first);
}

static void
tell_back(struct coord *c, size_t i, uint64_t steps, uint64_t now)
{
	uint64_t heard;
	const uint64_t gone = fleet_gone(c->fleet, i, &heard);
	const double seconds = gone ? (double)(now - gone) / 1000 : 0;
	const char *at = fleet_endpoint(c->fleet, i);

	if (steps != WIRE_NONE)
		report_warning(c, "server %zu (%s) is back after %.1f s "
			       "without its variables: %s%s, %llu steps are "
			       "run again", i, at, seconds, c->all_back ?
			       "all go back to " : "", *c->back.name ?
			       c->back.name : "initial values",
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
		struct redo *r = redo_of(c, i);
		uint64_t steps = WIRE_NONE;

		if (!fleet_holds(c->fleet, i)) {
			if (r == &c->redo[i]) {
				fill_redo(c, r);
				c->run_again += ranges_total(&r->todo);
			}
			if (c->o.mode == MODE_SYNC)
				sync_go_back(c);
			fleet_back(c->fleet, i, c->back.step);
			fleet_held(c->fleet, i);
			if (c->lost[i])
				steps = ranges_total(&r->todo);
		}
		c->lost[i] = false;
		if (c->begun || c->resumed || c->gone_told[i])
			tell_back(c, i, steps, now);
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
		const struct understudy *u = &c->understudy[i];
		const uint64_t trip = fleet_trip(c->fleet, i);

		if (trip != WIRE_NONE &&
		    (longest == WIRE_NONE || trip > longest))
			longest = trip;
		if (u->ready && (longest == WIRE_NONE || u->trip > longest))
			longest = u->trip;
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
				tell_back(c, i, WIRE_NONE, now);
				fleet_returned(c->fleet);
			}
		} else if (!c->gone_told[i] && !c->understudy[i].lost_ms &&
			   now - gone >= recover_mending(c)) {
			c->gone_told[i] = true;
			report_warning(c, "server %zu (%s) is gone: waiting "
				       "%g s for it", i,
				       fleet_endpoint(c->fleet, i),
				       (double)c->o.patience_ms / 1000);
		}
	}
}
