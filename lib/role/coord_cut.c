/*
 * The coordinator's cuts: of all steps below one, for a checkpoint or for an
 * evaluator.  The servers are told of it (FREEZE), the steps below it end,
 * and it is saved and published, or given to who wants it, and let go (THAW).
 */
#include "role/coord_inside.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct message
cut_message(const struct coord *c, enum message_kind kind)
{
	struct message m = { .kind = kind };

	m.cut.run = coord_run(c);
	m.cut.term = c->plan.term;
	m.cut.cut = c->cut;
	m.cut.step = c->cut_step;
	m.cut.parts = c->o.servers;
	return m;
}

static void
thaw(struct coord *c, bool published)
{
	struct message m = cut_message(c, MESSAGE_THAW);

	m.cut.published = published;
	fleet_ask(c->fleet, &m);
	c->cut_state = CUT_NONE;
}

/* Now, not only when so many steps are done. */
static bool
checkpoint_due(const struct coord *c, uint64_t now)
{
	if (!c->o.checkpoint)
		return false;
	return c->save_wanted || c->save_again || end_save_due(c) ||
		(c->o.every_ms && queue_mark(c->queue) > c->tried_step &&
		 now - c->saved_ms >= c->o.every_ms);
}

void
cut_plan(struct coord *c, uint64_t from)
{
	const uint64_t every = c->o.every_steps;

	c->next_save = every ? from - from % every + every : WIRE_NONE;
	while (every && c->next_save < fleet_above(c->fleet))
		c->next_save += every;
}

static struct member *
waiting_evaluator(const struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next)
		if (m->wants_cut && !m->gone)
			return m;
	return NULL;
}

/* All steps below the cut have a number, and none above: keep what is so. */
static void
reach_cut(struct coord *c)
{
	c->cut_reached = true;
	if (c->cut_for)
		return;
	data_note(c);
	journal_fold(c);
	c->cut_examples = c->o.restored.examples + c->all.examples;
}

/* Tell the servers of a cut of the steps below one, of which none is begun. */
static void
freeze(struct coord *c, struct member *who, uint64_t step)
{
	struct message m;

	c->cut = ++c->cuts;
	c->cut_step = step;
	c->cut_for = who;
	c->cut_reached = c->cut_spoiled = false;
	if (!who) {
		c->save_again = false;
		c->tried_step = step;
		cut_plan(c, step);
	}
	if (step == queue_next(c->queue))
		reach_cut(c);
	m = cut_message(c, MESSAGE_FREEZE);
	fleet_ask(c->fleet, &m);
	c->cut_state = CUT_FREEZE;
}

/* The servers know of a cut that lies ahead: it can be called off. */
static bool
cut_ahead(const struct coord *c)
{
	return c->cut_state == CUT_OPEN && !c->cut_reached;
}

bool
cut_idle(const struct coord *c)
{
	return c->cut_state == CUT_NONE || cut_ahead(c);
}

/* Has the last step below it been given out just now? */
static bool
come_to_cut(struct coord *c)
{
	if (!cut_ahead(c) || queue_next(c->queue) != c->cut_step)
		return false;
	reach_cut(c);
	return true;
}

bool
cut_saving(const struct coord *c)
{
	return c->cut_state == CUT_SAVE || c->cut_state == CUT_PUBLISH;
}

static void
call_off_cut(struct coord *c)
{
	if (!cut_ahead(c))
		return;
	c->next_save = c->cut_step;
	thaw(c, false);
}

static void
save(struct coord *c)
{
	char name[CHECKPOINT_NAME];
	struct message m = cut_message(c, MESSAGE_SAVE);

	checkpoint_name(c->cut_step, name);
	m.blob = (struct frame){ name, strlen(name), NULL };
	fleet_ask(c->fleet, &m);
	c->cut_state = CUT_SAVE;
	c->save_ms = c->now_ms;
}

static void
give_cut(struct coord *c)
{
	struct member *e = c->cut_for;
	struct message m = cut_message(c, MESSAGE_CUT);

	c->cut_for = NULL;
	if (e->gone || !e->wants_cut) {
		thaw(c, false);
		return;
	}
	m.request = e->request;
	e->cut = c->cut;
	e->wants_cut = false;
	c->cut_state = CUT_NONE;
	outbox_send(c->outbox, e->peer, &m);
}

/* The newest checkpoint: what a server that is lost will go back to. */
static void
take_base(struct coord *c, const char *name)
{
	snprintf(c->base.name, sizeof(c->base.name), "%s", name);
	c->base.step = c->cut_step;
	c->base.ours = true;
	journal_cut(c);
	if (c->phase == PHASE_RUN && recover_idle(c))
		history_forget(&c->history, c->cut_step);
}

/* One that was published before is now said to be the last. */
static void
count_checkpoint(struct coord *c, const struct fail *why, uint64_t now)
{
	c->saves_failed += why != NULL;
	if (why || c->job.again)
		return;
	c->saves++;
	c->published_ms = now;
	c->saving_ms = now - c->save_ms;
}

/* A checkpoint came to its end; why it failed, or NULL. */
static void
checkpoint_ended(struct coord *c, const struct fail *why, uint64_t now)
{
	const struct request *r = c->save_wanted ? queue_barrier(c->queue) :
		NULL;
	char name[CHECKPOINT_NAME];

	c->saved_ms = now;
	count_checkpoint(c, why, now);
	checkpoint_name(c->cut_step, name);
	if (!why) {
		c->saved_step = c->cut_step;
		take_base(c, name);
		if (r)
			report_saved(c, r->id, name, c->cut_step);
	} else {
		c->sweep = true;
		report_warning(c, "no checkpoint of step %llu: %s",
			       (unsigned long long)c->cut_step, why->text);
		if (r)
			report_error(c, r->id, "save", c->cut_step, NULL,
				     why->text);
		if ((r || c->final) && c->status == 0) {
			c->status = (int)why->kind;
			c->failure = *why;
		}
	}
	if (r)
		coord_pass(c);
	c->save_wanted = false;
}

void
cut_saved(struct coord *c, const struct ask *saved, uint64_t now)
{
	struct coord_job *job = &c->job;

	free(job->part);
	free(job->info.ledger);
	*job = (struct coord_job){ .parts = c->o.servers,
				   .again = !saved };
	checkpoint_name(c->cut_step, job->name);
	job->info.step = c->cut_step;
	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(job->info.run + 2 * i, 3, "%02x", c->plan.run[i]);
	job->info.seed = c->plan.seed;
	job->info.final = c->final;
	if (!saved)
		reach_cut(c);
	job->info.ledger = data_position(c);
	job->info.examples = c->cut_examples;
	job->info.seconds = c->trained_before +
		(double)(now - c->all.began_ms) / 1000;
	job->part = mem_alloc(c->o.servers, sizeof(*job->part));
	for (size_t i = 0; saved && i < c->o.servers; i++) {
		job->part[i].size = saved->saved[i].size;
		snprintf(job->part[i].hash, sizeof(job->part[i].hash),
			 "%.32s", saved->saved[i].hash);
	}
	c->job_waiting = true;
	c->cut_state = CUT_PUBLISH;
}

void
cut_failed(struct coord *c, const struct fail *why, uint64_t now)
{
	struct message m = { .kind = MESSAGE_REFUSED };

	if (c->cut_for && !c->cut_for->gone) {
		m.request = c->cut_for->request;
		m = message_refuse(&m, why->kind, why->text);
		c->cut_for->wants_cut = false;
		outbox_send(c->outbox, c->cut_for->peer, &m);
	} else if (!c->cut_for) {
		checkpoint_ended(c, why, now);
	}
	c->cut_for = NULL;
	thaw(c, false);
}

const struct coord_job *
coord_job(const struct coord *c)
{
	return c->job_waiting ? &c->job : NULL;
}

uint64_t
coord_newest(const struct coord *c)
{
	return c->base.step;
}

bool
coord_sweeps(struct coord *c)
{
	const bool sweep = c->sweep;

	c->sweep = false;
	return sweep;
}

void
coord_published(struct coord *c, const struct fail *why, uint64_t now)
{
	c->job_waiting = false;
	checkpoint_ended(c, why, now);
	/* A new term lets go of what an earlier one held. */
	if (c->job.again || c->phase == PHASE_GREET)
		c->cut_state = CUT_NONE;
	else
		thaw(c, why == NULL);
	coord_advance(c, now);
}

bool
cut_whole(const struct coord *c)
{
	return c->cut_state == CUT_OPEN &&
		queue_mark(c->queue) >= c->cut_step && !c->cancelling &&
		recover_idle(c);
}

void
cut_count(struct coord *c, const struct step *step, const struct result *r)
{
	if (!c->cut_reached || c->cut_for || r->step >= c->cut_step)
		return;
	c->cut_examples += r->examples;
	if (c->o.ledger)
		ledger_visits_add(c->o.ledger, &c->cut_visits, step->place,
				  r->examples);
}

bool
cut_possible(const struct coord *c)
{
	return queue_next(c->queue) >= fleet_above(c->fleet) ||
		queue_waiting(c->queue) == 0;
}

/* A cut that is wanted now, or else the next of those that lie ahead. */
static void
begin_cut(struct coord *c, uint64_t now)
{
	const bool due = checkpoint_due(c, now);
	struct member *who = due ? NULL : waiting_evaluator(c);

	if ((due || who) && cut_possible(c)) {
		call_off_cut(c);
		freeze(c, who, queue_next(c->queue));
	} else if (c->cut_state == CUT_NONE && c->next_save != WIRE_NONE &&
		   !c->final) {
		freeze(c, NULL, c->next_save);
	}
}

/*
 * All of its steps are void so far: whoever begins with the same checkpoint
 * again and again, and fails, is not to lose the older ones for that.
 */
static bool
adds_nothing(const struct coord *c)
{
	return c->all.steps == 0 && c->saved_step != WIRE_NONE;
}

void
cut_advance(struct coord *c, uint64_t now)
{
	if (c->cut_spoiled && c->cut_state == CUT_OPEN) {
		c->cut_spoiled = false;
		c->save_again = !c->cut_for;
		thaw(c, false);
	}
	come_to_cut(c);
	if (cut_whole(c) && c->cut_for)
		give_cut(c);
	else if (cut_whole(c) && !c->save_wanted && adds_nothing(c))
		thaw(c, false);
	else if (cut_whole(c) && journal_safe(c))
		save(c);
	if (cut_idle(c) && !c->cancelling)
		begin_cut(c, now);
}

void
cut_lease(struct coord *c)
{
	lease_give_out(c);
	if (come_to_cut(c))
		lease_give_out(c);
}

bool
cut_final(struct coord *c, uint64_t now)
{
	call_off_cut(c);
	if (!c->o.checkpoint || c->final)
		return false;
	c->final = true;
	if (c->saved_step == queue_mark(c->queue) || adds_nothing(c)) {
		c->cut_step = c->saved_step;
		cut_saved(c, NULL, now);
	} else {
		freeze(c, NULL, queue_mark(c->queue));
	}
	return true;
}
