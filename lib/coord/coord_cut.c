/*
 * The coordinator's cuts.  A cut is the state of the servers with exactly the
 * steps below a given one; it is made for a checkpoint or an evaluator.  The
 * servers are told of it (FREEZE), the steps below it end, the cut is saved and
 * published, or given to the evaluator, and let go (THAW).
 */
#include "coord/coord_cut.h"

#include "base/mem.h"
#include "coord/coord_cancel.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_sync.h"
#include "wire/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * States of the cut of all steps below cut_plans.step.  The servers are told of
 * it first (FREEZE): until all have answered, that step is not leased.  Then
 * the cut is OPEN, while training goes on, until the steps below it have ended.
 * A cut at a multiple of every_steps is announced as early as possible, so that
 * no worker waits for the answers.
 *
 *	NONE --freeze()--> FREEZE --cut_frozen()--> OPEN --save()--> SAVE
 *	SAVE --cut_saved()--> PUBLISH --cut_published()--> NONE
 *	NONE --cut_saved()--> PUBLISH	(the newest one is marked as final)
 *	OPEN --give_cut(), call_off_cut(), cut_advance()--> NONE
 *	FREEZE, SAVE --cut_failed()--> NONE
 *	FREEZE, OPEN, SAVE --cut_give_up()--> NONE
 */
enum cut_state { CUT_NONE, CUT_FREEZE, CUT_OPEN, CUT_SAVE, CUT_PUBLISH };

/* The cut that an evaluator has, and the one that it waits for. */
struct holder {
	uint64_t cut;		/* its number; WIRE_NONE: it has none */
	bool wants;		/* it waits for one, */
	uint64_t request;	/* which it asked for by this request */
};

struct cut_plans {
	struct holder *of;		/* each member, by its index */
	size_t room;

	/* the cut under way */
	enum cut_state state;
	uint64_t number, numbered;	/* its number; the last one used */
	uint64_t step;			/* it is of the steps below */
	struct member *who;		/* it is for; NULL: a checkpoint */
	bool reached;		/* all steps below it have a number, and */
	struct pack place;		/* then the samplers stood here; */
	struct samplers_reads visits;	/* records that steps below it */
	uint64_t examples;		/* have read, and their examples */
	bool spoiled;		/* steps of it were given up, and their
				   records are others' */
	bool wanted;		/* by a save request */
	bool again;		/* a checkpoint's cut was lost: one is due */
	bool final;		/* the final checkpoint has been begun */

	/* the checkpoints before it */
	uint64_t saved_step;	/* of the last one; WIRE_NONE: none yet */
	uint64_t tried_step, saved_ms;	/* of the last try */
	uint64_t next;		/* no step at or over it is begun before there
				   is a cut of those below */
	bool job_waiting;
	struct coord_job job;
	bool cleanup;		/* files of a failed one may be left */
	uint64_t save_ms;	/* when the last one was begun (SAVE) */
	struct cut_figures told;
	struct cut_base base;	/* the newest checkpoint */
	bool reached_now;	/* reached, and coord.c has not asked yet */
};

void
cut_init(struct coord *c, const char *name, uint64_t step, uint64_t next)
{
	c->cut = mem_alloc(1, sizeof(*c->cut));
	c->cut->saved_step = step;
	c->cut->tried_step = next;
	snprintf(c->cut->job.name, sizeof(c->cut->job.name), "%s", name);
	cut_begin_with(c, name, next, false);
}

void
cut_release(struct coord *c)
{
	if (!c->cut)
		return;
	pack_release(&c->cut->place);
	free(c->cut->job.part);
	free(c->cut->job.info.sampler);
	free(c->cut->of);
	free(c->cut);
}

static struct holder *
holder(const struct coord *c, const struct member *e)
{
	return &c->cut->of[e->at];
}

void
cut_join(struct coord *c, const struct member *e)
{
	struct cut_plans *cut = c->cut;

	cut->of = members_room(cut->of, &cut->room, e, sizeof(*cut->of));
	cut->of[e->at].cut = WIRE_NONE;
}

/* Plans the next cut at a multiple of every_steps, above this step, and not
   below a step that was pushed in an earlier term. */
static void
plan_next(struct coord *c, uint64_t from)
{
	const uint64_t every = c->o.every_steps;

	c->cut->next = every ? from - from % every + every : WIRE_NONE;
	while (every && c->cut->next < fleet_high_watermark(c->fleet))
		c->cut->next += every;
}

void
cut_begin_run(struct coord *c, uint64_t now)
{
	c->cut->saved_ms = now;
	c->cut->tried_step = queue_watermark(c->queue);
	plan_next(c, queue_next(c->queue));
}

void
cut_resume(struct coord *c, uint64_t saved_step)
{
	c->cut->saved_step = saved_step;
	c->cut->tried_step = queue_watermark(c->queue);
}

void
cut_begin_term(struct coord *c)
{
	c->cut->numbered = (c->plan.term - 1) << 32;
}

static struct message
message_of(const struct coord *c, enum message_kind kind, uint64_t number,
	   uint64_t step)
{
	struct message m = { .kind = kind };

	m.cut.run = plan_run(&c->plan);
	m.cut.term = c->plan.term;
	m.cut.cut = number;
	m.cut.step = step;
	m.cut.parts = c->o.servers;
	return m;
}

static struct message
cut_message(const struct coord *c, enum message_kind kind)
{
	return message_of(c, kind, c->cut->number, c->cut->step);
}

uint64_t
cut_freeze(struct coord *c, uint64_t step)
{
	const struct message m = message_of(c, MESSAGE_FREEZE,
					    ++c->cut->numbered, step);

	fleet_ask(c->fleet, &m);
	return c->cut->numbered;
}

void
cut_thaw(struct coord *c, uint64_t number)
{
	const struct message m = message_of(c, MESSAGE_THAW, number, 0);

	fleet_ask(c->fleet, &m);
}

bool
cut_is(const struct coord *c, uint64_t number)
{
	return c->cut->number == number;
}

static void
thaw(struct coord *c, bool published)
{
	struct message m = cut_message(c, MESSAGE_THAW);

	m.cut.published = published;
	fleet_ask(c->fleet, &m);
	c->cut->state = CUT_NONE;
	c->cut->who = NULL;
}

/* Is a checkpoint due for the one that was lost?  Not where values are pulled
   as differences, which begin anew at each checkpoint: a cut at another step
   would change what is computed.  There the next multiple of every_steps
   comes. */
static bool
try_again(const struct coord *c)
{
	return c->cut->again && c->plan.every == 0;
}

/* Is a checkpoint due now, at whatever step? */
static bool
checkpoint_due(const struct coord *c, uint64_t now)
{
	if (!c->o.checkpoint)
		return false;
	return c->cut->wanted || try_again(c) || cut_save_due(c) ||
		(c->o.every_ms &&
		 queue_watermark(c->queue) > c->cut->tried_step &&
		 now - c->cut->saved_ms >= c->o.every_ms);
}

static struct member *
waiting_evaluator(const struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next)
		if (holder(c, m)->wants && !m->gone)
			return m;
	return NULL;
}

/* All steps below the cut have a number, and none above: notes where the
   samplers stand, and what has been read. */
static void
reach_cut(struct coord *c)
{
	c->cut->reached = true;
	if (c->cut->who)
		return;
	data_note(c, &c->cut->place, &c->cut->visits);
	c->cut->reached_now = true;
	c->cut->examples = c->o.restored.examples + report_all(c)->examples;
}

/* Tells the servers of a cut of the steps below this one, for an evaluator, or
   (NULL) for a checkpoint.  No step at or above it has been leased. */
static void
freeze(struct coord *c, struct member *who, uint64_t step)
{
	struct message m;

	c->cut->number = ++c->cut->numbered;
	c->cut->step = step;
	c->cut->who = who;
	c->cut->reached = c->cut->spoiled = false;
	if (!who) {
		c->cut->again = false;
		c->cut->tried_step = step;
		plan_next(c, step);
	}
	if (step == queue_next(c->queue))
		reach_cut(c);
	m = cut_message(c, MESSAGE_FREEZE);
	m.cut.part = !who;
	fleet_ask(c->fleet, &m);
	c->cut->state = CUT_FREEZE;
}

/* Do the servers know of a cut whose steps do not all have numbers yet?  Then
   it can be called off. */
static bool
cut_ahead(const struct coord *c)
{
	return c->cut->state == CUT_OPEN && !c->cut->reached;
}

bool
cut_idle(const struct coord *c)
{
	return c->cut->state == CUT_NONE || cut_ahead(c);
}

bool
cut_come_to(struct coord *c)
{
	if (!cut_ahead(c) || queue_next(c->queue) != c->cut->step)
		return false;
	reach_cut(c);
	return true;
}

void
cut_frozen(struct coord *c)
{
	c->cut->state = CUT_OPEN;
}

bool
cut_publishing(const struct coord *c)
{
	return c->cut->state == CUT_PUBLISH;
}

uint64_t
cut_limit(const struct coord *c)
{
	const bool begun = c->cut->state == CUT_FREEZE ||
		(c->cut->state == CUT_OPEN && !c->cut->reached);

	return begun ? c->cut->step : c->cut->next;
}

bool
cut_between(const struct coord *c, uint64_t step, uint64_t next)
{
	const struct cut_plans *cut = c->cut;

	return (cut->next > step && cut->next <= next) ||
		(cut->state != CUT_NONE && !cut->who && cut->step > step &&
		 cut->step <= next);
}

uint64_t
cut_saved_step(const struct coord *c)
{
	return c->cut->saved_step;
}

const struct cut_base *
cut_base(const struct coord *c)
{
	return &c->cut->base;
}

bool
cut_reached(struct coord *c, uint64_t *step)
{
	const bool reached = c->cut->reached_now;

	*step = c->cut->step;
	c->cut->reached_now = false;
	return reached;
}

bool
cut_is_for(const struct coord *c, const struct member *m)
{
	return c->cut->who == m;
}

/* A cut that is under way does not count: it lacks steps that the request
   asks for. */
void
cut_want(struct coord *c)
{
	c->cut->wanted = c->cut->wanted || cut_idle(c);
}

bool
cut_unwant(struct coord *c)
{
	if (c->cut->wanted && c->cut->state != CUT_NONE)
		return false;
	c->cut->wanted = false;
	return true;
}

void
cut_want_last(struct coord *c)
{
	c->cut->tried_step = WIRE_NONE;
}

/* Is a last checkpoint missing, and has none been tried at this step? */
static bool
last_due(const struct coord *c)
{
	const uint64_t next = queue_next(c->queue);

	return c->o.checkpoint && c->cut->saved_step != next &&
		c->cut->tried_step != next;
}

bool
cut_save_due(const struct coord *c)
{
	return ending_state(c) == ENDING_SUSPEND && last_due(c);
}

void
cut_spoil(struct coord *c)
{
	c->cut->spoiled = c->o.samplers && c->cut->reached;
}

void
cut_give_up(struct coord *c)
{
	struct cut_plans *cut = c->cut;

	if (cut->state == CUT_NONE || cut->state == CUT_PUBLISH)
		return;
	if (!cut->who && cut->reached)
		cut->again = true;
	else if (!cut->who)
		cut->next = cut->step;
	cut->final = false;
	cut->who = NULL;
	cut->state = CUT_NONE;
}

struct cut_figures
cut_figures(const struct coord *c)
{
	return c->cut->told;
}

static bool
saving(const struct coord *c)
{
	return c->cut->state == CUT_SAVE || c->cut->state == CUT_PUBLISH;
}

static void
call_off_cut(struct coord *c)
{
	if (!cut_ahead(c))
		return;
	c->cut->next = c->cut->step;
	thaw(c, false);
}

static void
save(struct coord *c)
{
	char name[CHECKPOINT_NAME];
	struct message m = cut_message(c, MESSAGE_SAVE);

	sync_drop_residuals(c, c->cut->step);
	checkpoint_name(c->cut->step, name);
	m.blob = (struct frame){ name, strlen(name), NULL };
	fleet_ask(c->fleet, &m);
	c->cut->state = CUT_SAVE;
	c->cut->save_ms = c->now_ms;
}

static void
give_cut(struct coord *c)
{
	struct member *e = c->cut->who;
	struct message m = cut_message(c, MESSAGE_CUT);

	c->cut->who = NULL;
	if (e->gone || !holder(c, e)->wants) {
		thaw(c, false);
		return;
	}
	m.request = holder(c, e)->request;
	holder(c, e)->cut = c->cut->number;
	holder(c, e)->wants = false;
	c->cut->state = CUT_NONE;
	outbox_send(c->outbox, e->peer, &m);
}

static void
write_base(struct coord *c)
{
	struct pack out = { 0 };

	pack_text(&out, c->cut->base.name);
	pack_uint(&out, c->cut->base.step);
	journal_add(c, JOURNAL_CUT, &out, true);
	pack_release(&out);
}

/* Makes the cut the newest checkpoint, to which a lost server goes back. */
static void
take_base(struct coord *c, const char *name)
{
	snprintf(c->cut->base.name, sizeof(c->cut->base.name), "%s", name);
	c->cut->base.step = c->cut->step;
	c->cut->base.ours = true;
	write_base(c);
	if (c->phase == PHASE_RUN)
		rerun_forget(c, c->cut->step);
}

/* Counts a checkpoint or a failure.  One that was only marked as final was
   counted before. */
static void
count_checkpoint(struct coord *c, const struct fail *why, uint64_t now)
{
	c->cut->told.failures += why != NULL;
	if (why || c->cut->job.again)
		return;
	c->cut->told.published++;
	c->cut->told.published_ms = now;
	c->cut->told.saving_ms = now - c->cut->save_ms;
}

/* Warns that there is no checkpoint.  If values are not finite (FAIL_DATA),
   later checkpoints will fail, too: it names the newest good one. */
static void
warn_of_none(struct coord *c, const struct fail *why)
{
	const char *newest = *c->cut->base.name ? c->cut->base.name : "none";
	const bool spoilt = why->kind == FAIL_DATA;

	report_warning(c, "no checkpoint of step %llu: %s%s%s",
		       (unsigned long long)c->cut->step, why->text,
		       spoilt ? "; the newest is " : "",
		       spoilt ? newest : "");
}

/* A checkpoint is published, or has failed, and why. */
static void
checkpoint_ended(struct coord *c, const struct fail *why, uint64_t now)
{
	const struct request *r = c->cut->wanted ? queue_barrier(c->queue) :
		NULL;
	char name[CHECKPOINT_NAME];

	c->cut->saved_ms = now;
	count_checkpoint(c, why, now);
	checkpoint_name(c->cut->step, name);
	if (!why) {
		c->cut->saved_step = c->cut->step;
		take_base(c, name);
		if (r)
			report_saved(c, r, name, c->cut->step);
	} else {
		c->cut->cleanup = true;
		warn_of_none(c, why);
		if (r)
			report_error(c, r, "save", c->cut->step, NULL,
				     why->text);
		if (r || c->cut->final)
			ending_note(c, r, why);
	}
	if (r)
		journal_pass(c);
	c->cut->wanted = false;
}

void
cut_saved(struct coord *c, const struct ask *saved, uint64_t now)
{
	struct coord_job *job = &c->cut->job;

	free(job->part);
	free(job->info.sampler);
	*job = (struct coord_job){ .parts = c->o.servers,
				   .again = !saved };
	checkpoint_name(c->cut->step, job->name);
	job->info.step = c->cut->step;
	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(job->info.run + 2 * i, 3, "%02x", c->plan.run[i]);
	job->info.seed = c->plan.seed;
	job->info.final = c->cut->final;
	if (!saved)
		reach_cut(c);
	job->info.sampler = data_position(c, &c->cut->place,
					  &c->cut->visits);
	job->info.examples = c->cut->examples;
	job->info.seconds = c->o.restored.seconds +
		(double)(now - report_all(c)->began_ms) / 1000;
	job->part = mem_alloc(c->o.servers, sizeof(*job->part));
	for (size_t i = 0; saved && i < c->o.servers; i++) {
		job->part[i].size = saved->saved[i].size;
		snprintf(job->part[i].hash, sizeof(job->part[i].hash),
			 "%.32s", saved->saved[i].hash);
	}
	c->cut->job_waiting = true;
	c->cut->state = CUT_PUBLISH;
}

void
cut_failed(struct coord *c, const struct fail *why, uint64_t now)
{
	struct message m = { .kind = MESSAGE_REFUSED };

	if (c->cut->who && !c->cut->who->gone) {
		m.request = holder(c, c->cut->who)->request;
		m = message_refuse(&m, why->kind, why->text);
		holder(c, c->cut->who)->wants = false;
		outbox_send(c->outbox, c->cut->who->peer, &m);
	} else if (!c->cut->who) {
		checkpoint_ended(c, why, now);
	}
	c->cut->who = NULL;
	thaw(c, false);
}

const struct coord_job *
coord_job(const struct coord *c)
{
	return c->cut->job_waiting ? &c->cut->job : NULL;
}

uint64_t
coord_newest(const struct coord *c)
{
	return c->cut->base.step;
}

bool
coord_needs_cleanup(struct coord *c)
{
	const bool cleanup = c->cut->cleanup;

	c->cut->cleanup = false;
	return cleanup;
}

void
cut_published(struct coord *c, const struct fail *why, uint64_t now)
{
	c->cut->job_waiting = false;
	checkpoint_ended(c, why, now);
	/* A new term follows GREET, and servers release all cuts when it
	   begins. */
	if (c->cut->job.again || c->phase == PHASE_GREET)
		c->cut->state = CUT_NONE;
	else
		thaw(c, why == NULL);
}

bool
cut_whole(const struct coord *c)
{
	return c->cut->state == CUT_OPEN &&
		queue_watermark(c->queue) >= c->cut->step &&
		!cancel_under_way(c) &&
		rerun_idle(c);
}

void
cut_count(struct coord *c, const struct result *r)
{
	if (!c->cut->reached || c->cut->who || r->step >= c->cut->step)
		return;
	c->cut->examples += r->examples;
	data_add_read(c, r, &c->cut->visits);
}

bool
cut_possible(const struct coord *c)
{
	const struct request *r = queue_barrier(c->queue);
	const bool epoch = r && r->op == REQUEST_EPOCH;

	return queue_next(c->queue) >= fleet_high_watermark(c->fleet) ||
		(queue_waiting(c->queue) == 0 && !epoch);
}

/* Begins a cut that is wanted now, or else the one at the next multiple of
   every_steps. */
static void
begin_cut(struct coord *c, uint64_t now)
{
	const bool due = checkpoint_due(c, now);
	struct member *who = due ? NULL : waiting_evaluator(c);

	if ((due || who) && cut_possible(c)) {
		call_off_cut(c);
		freeze(c, who, queue_next(c->queue));
	} else if (c->cut->state == CUT_NONE && c->cut->next != WIRE_NONE &&
		   !c->cut->final) {
		freeze(c, NULL, c->cut->next);
	}
}

/*
 * Has this run done no step since the checkpoint that it began with?  Then it
 * saves none: a run that is started from one checkpoint again and again, and
 * fails each time, would push the older checkpoints out of the directory.
 */
static bool
adds_nothing(const struct coord *c)
{
	return report_steps(c) == 0 && c->cut->saved_step != WIRE_NONE;
}

void
cut_advance(struct coord *c, uint64_t now)
{
	if (c->cut->spoiled && c->cut->state == CUT_OPEN) {
		c->cut->spoiled = false;
		c->cut->again = !c->cut->who;
		thaw(c, false);
	}
	cut_come_to(c);
	if (cut_whole(c) && c->cut->who)
		give_cut(c);
	else if (cut_whole(c) && !c->cut->wanted && adds_nothing(c))
		thaw(c, false);
	else if (cut_whole(c) && journal_safe(c))
		save(c);
	if (cut_idle(c) && !cancel_under_way(c))
		begin_cut(c, now);
}

bool
cut_final(struct coord *c, uint64_t now)
{
	call_off_cut(c);
	if (!c->o.checkpoint || c->cut->final)
		return false;
	c->cut->final = true;
	if (c->cut->saved_step == queue_watermark(c->queue) ||
	    adds_nothing(c)) {
		c->cut->step = c->cut->saved_step;
		cut_saved(c, NULL, now);
	} else {
		freeze(c, NULL, queue_watermark(c->queue));
	}
	return true;
}

/* ---- evaluators ---- */

void
cut_ask(struct coord *c, const struct member *e, uint64_t request)
{
	cut_let_go(c, e);	/* the answer with that one was lost */
	holder(c, e)->wants = true;
	holder(c, e)->request = request;
}

bool
cut_awaits(const struct coord *c, const struct member *e, uint64_t *request)
{
	*request = holder(c, e)->request;
	return holder(c, e)->wants && saving(c);
}

void
cut_leave(struct coord *c, const struct member *e)
{
	holder(c, e)->wants = false;
}

void
cut_forget(struct coord *c, const struct member *e)
{
	holder(c, e)->wants = false;
	holder(c, e)->cut = WIRE_NONE;
}

void
cut_let_go(struct coord *c, const struct member *e)
{
	if (holder(c, e)->cut == WIRE_NONE)
		return;
	cut_thaw(c, holder(c, e)->cut);
	holder(c, e)->cut = WIRE_NONE;
}

/* ---- in the journal ---- */

int
cut_read(struct coord *c, struct unpack *u)
{
	unpack_text(u, c->cut->base.name, sizeof(c->cut->base.name));
	c->cut->base.step = unpack_uint(u);
	c->cut->base.ours = true;
	return u->bad ? -1 : 0;
}

void
cut_begin_with(struct coord *c, const char *name, uint64_t step, bool ours)
{
	struct cut_base *b = &c->cut->base;

	memset(b->name, 0, sizeof(b->name));
	snprintf(b->name, sizeof(b->name), "%s", name);
	b->step = step;
	b->ours = ours || b->ours;
}

/* ---- what always holds ---- */

const char *
cut_check(const struct coord *c)
{
	const struct cut_plans *cut = c->cut;
	const bool begun = cut->state == CUT_FREEZE || cut->state == CUT_OPEN;
	const uint64_t next = queue_next(c->queue);

	for (const struct member *m = c->member; m; m = m->next)
		if (m->gone && holder(c, m)->wants)
			return "coord 6: nothing is expected of a member that "
				"is gone";
	if (cut->who && !begun)
		return "coord 16: an evaluator waits for a cut that is being "
			"made";
	if (cut->job_waiting != (cut->state == CUT_PUBLISH))
		return "coord 17: a job waits only while its checkpoint is "
			"published";
	if (c->phase < PHASE_RUN && (begun || cut->state == CUT_SAVE))
		return "coord 18: no cut is made while servers are awaited";
	if (c->phase != PHASE_RUN)
		return NULL;
	if (begun && !cut->reached && next > cut->step)
		return "coord 19: no step at or above a cut has a number "
			"before the cut's steps are known";
	if (begun && cut->reached && next < cut->step)
		return "coord 20: all steps below a cut that was reached have "
			"a number";
	if (cut->state == CUT_SAVE && queue_watermark(c->queue) < cut->step)
		return "coord 21: the steps that are being saved have ended";
	if (*c->cut->base.name && c->cut->base.step > queue_watermark(c->queue))
		return "coord 22: the steps of a checkpoint have ended";
	if ((cut->state == CUT_FREEZE &&
	     !fleet_asking(c->fleet, MESSAGE_FREEZE)) ||
	    (cut->state == CUT_SAVE && !fleet_asking(c->fleet, MESSAGE_SAVE)))
		return "coord 29: servers are asked by FREEZE or SAVE while a "
			"cut waits for them";
	return NULL;
}
