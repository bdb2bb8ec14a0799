#include "role/coord.h"

#include "base/mem.h"
#include "role/coord_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERM		1		/* of a run that nobody has resumed */
#define PLAN_NUMBER	1
#define MAX_REQUESTS	4096		/* read ahead */
#define MARK_STEPS	1024		/* steps between two marks */
#define MARK_MS		200		/* or this long */
#define PROBE_MS	250
#define STOP_MS		5000		/* for members to leave */
#define DRAIN_MS	8000		/* to come to an end when asked to */
#define DRAINED_MS	9000		/* ... all of it */
#define EXHAUSTED_MS	1000		/* for late workers to come */

uint64_t
coord_run(const struct coord *c)
{
	return plan_run(&c->plan);
}

uint64_t
coord_term(const struct coord *c)
{
	return c->plan.term;
}

void
coord_plan(const struct coord_options *o, const struct model *model,
	   struct plan *plan, struct place **place, size_t *places)
{
	size_t variables;
	const struct variable *v = model_variables(model, &variables);
	char **endpoint = mem_alloc(o->servers, sizeof(*endpoint));

	for (size_t i = 0; i < o->servers; i++)
		endpoint[i] = o->server[i] ? o->server[i] : (char *)"-";
	*place = partition_plan(v, variables, &o->partitioner, o->placement,
				o->servers, places);
	plan_make(plan, model, *place, *places, endpoint, o->servers);
	plan->number = PLAN_NUMBER;
	plan->term = TERM;
	plan->seed = o->seed;
	memcpy(plan->run, o->run, PLAN_RUN);
	free(endpoint);
}

void
coord_print_plan(struct text *out, const struct coord_options *o,
		 const struct model *model)
{
	struct plan plan = { 0 };
	struct place *place;
	size_t places;

	coord_plan(o, model, &plan, &place, &places);
	plan_print(out, &plan, model, place, places, o->batch);
	plan_release(&plan);
	free(place);
}

void
coord_begin_queue(struct coord *c, uint64_t first)
{
	queue_free(c->queue);
	c->queue = queue_new(first);
	if (c->o.mode == MODE_SSP)
		queue_bound(c->queue, c->o.ahead);
	queue_follow(c->queue, c->o.ledger);
}

struct coord *
coord_new(const struct coord_options *o, const struct model_source *source,
	  const struct model *model, struct outbox *outbox, uint64_t now,
	  struct fail *f)
{
	struct coord *c = mem_alloc(1, sizeof(*c));
	struct place *place;
	size_t places;

	c->o = *o;
	if (o->mode == MODE_SYNC)
		c->o.pack = 1;		/* what is leased is a slot */
	c->source = source;
	c->model = model;
	c->metric = model_metrics(model, &c->metrics);
	c->outbox = outbox;
	c->began_ms = c->run_began_ms = c->helped_ms = c->now_ms = now;
	c->saved_step = *o->restore ? o->restored.step : WIRE_NONE;
	snprintf(c->job.name, sizeof(c->job.name), "%s", o->restore);
	c->trained_before = o->restored.seconds;
	coord_plan(o, model, &c->plan, &place, &places);
	free(place);
	plan_write_model(&c->model_frame, source);
	block_write_format(&c->format_frame, &o->format);
	coord_begin_queue(c, *o->restore ? o->restored.step : 0);
	c->mark_told = c->tried_step = queue_mark(c->queue);
	recover_init(c);
	standby_init(c);
	if (c->metrics > RESULT_METRICS) {
		fail(f, FAIL_CONFIG, "a model has at most %d metrics",
		     RESULT_METRICS);
		coord_free(c);
		return NULL;
	}
	c->fleet = fleet_new(o->server, o->servers, c->plan.run, TERM,
			     o->life, outbox, now, f);
	if (c->fleet)
		return c;
	coord_free(c);
	return NULL;
}

void
coord_free(struct coord *c)
{
	if (!c)
		return;
	members_free(c);
	rounds_free(c->rounds);
	pack_release(&c->attempts);
	text_release(&c->state);
	fleet_free(c->fleet);
	recover_release(c);
	standby_release(c);
	queue_free(c->queue);
	pack_release(&c->plan_frame);
	pack_release(&c->model_frame);
	pack_release(&c->format_frame);
	pack_release(&c->cut_place);
	pack_release(&c->block);
	pack_release(&c->block_after);
	plan_release(&c->plan);
	totals_release(&c->join);
	totals_release(&c->all);
	totals_release(&c->eval);
	totals_release(&c->epoch);
	text_release(&c->lines);
	pack_release(&c->notes);
	text_release(&c->output);
	text_release(&c->warnings);
	free(c->job.part);
	free(c->shards_back);
	free(c->failed_id);
	free(c);
}

struct text *
coord_output(struct coord *c)
{
	return &c->output;
}

struct text *
coord_warnings(struct coord *c)
{
	return &c->warnings;
}

/* ---- ends ---- */

static void
report_failed_step(struct coord *c)
{
	report_error(c, c->failed_id, "train", c->failed_step,
		     c->failed_worker, c->step_error.text);
	if (queue_step(c->queue, c->failed_step))
		journal_void(c, c->failed_step);
	queue_end(c->queue, c->failed_step);
}

static void
stop_members(struct coord *c, uint64_t now)
{
	struct message m = { .kind = c->o.keep_servers ? MESSAGE_BYE :
			     MESSAGE_STOP };

	c->phase = PHASE_STOP;
	c->deadline_ms = now + STOP_MS;
	if (c->asked_ms && c->deadline_ms > c->asked_ms + DRAINED_MS)
		c->deadline_ms = c->asked_ms + DRAINED_MS;
	workers_stop(c);
	if (!c->server_gone || fleet_present(c->fleet) > 0)
		fleet_ask(c->fleet, &m);
}

/* Nothing more will be done: each request that waits is told. */
static void
give_up(struct coord *c)
{
	if (c->failing)
		report_failed_step(c);
	c->failing = c->cancelling = c->voiding = false;
	while (!queue_idle(c->queue)) {
		queue_cancel(c->queue, report_cancelled, c);
		if (queue_barrier(c->queue)) {
			report_passed_over(c, queue_barrier(c->queue));
			queue_pass(c->queue);
		}
	}
}

void
coord_fail(struct coord *c, const struct fail *why, uint64_t now)
{
	if (c->phase >= PHASE_STOP)
		return;
	c->failure = *why;
	c->status = (int)why->kind;
	give_up(c);
	stop_members(c, now);
}

/* The run ends with this error, but what was trained is kept. */
static void
wind_up(struct coord *c, const struct fail *why)
{
	c->failure = *why;
	c->status = (int)why->kind;
	c->no_more_requests = c->stopping = true;
}

void
coord_error(struct coord *c, const struct fail *why)
{
	if (!c->o.keep_going)
		wind_up(c, why);
	else if (c->status == 0)
		c->status = (int)why->kind;
}

bool
coord_over(const struct coord *c, int *status, struct fail *f)
{
	if (c->phase != PHASE_OVER)
		return false;
	*status = c->status;
	*f = c->failure;
	return true;
}

/* ---- steps that are given up ---- */

/*
 * What workers were at when they were told has been done by then, and counts;
 * only what is left is void: what servers are to refuse, and nobody has pushed
 * but the dead.
 */
static void
tell_void(struct coord *c)
{
	struct message m = { .kind = MESSAGE_VOID };

	if (!c->cancelling || c->voiding || c->committing ||
	    lease_cancelling(c))
		return;
	c->voiding = true;
	m.voided.run = coord_run(c);
	m.voided.term = c->plan.term;
	m.voided.first = queue_mark(c->queue);
	m.voided.count = queue_next(c->queue) - queue_mark(c->queue);
	journal_voiding(c, m.voided.first, m.voided.count, false);
	if (c->phase < PHASE_STOP)
		fleet_ask(c->fleet, &m);
}

void
coord_void(struct coord *c)
{
	const uint64_t next = queue_next(c->queue);
	struct lease_terms l;

	c->cancelling = true;
	c->voiding = false;
	if (c->committing)
		return;		/* that round ends first; sync_committed() */
	if (c->rounds)
		rounds_reset(c->rounds, true);
	/* No other step may have the number of one that a server has. */
	while (queue_next(c->queue) < fleet_above(c->fleet) &&
	       queue_give(c->queue, &l))
		;
	recover_note(c, next);
	lease_cancel(c, queue_mark(c->queue),
		     queue_next(c->queue) - queue_mark(c->queue));
	tell_void(c);
}

/* The servers refuse those steps from now on: say it. */
static void
voided(struct coord *c)
{
	for (uint64_t s = queue_mark(c->queue); s < queue_next(c->queue); s++)
		if (queue_step(c->queue, s))
			history_void(&c->history, s, 1);
	c->cut_spoiled = c->o.ledger && c->cut_reached;
	c->cancelling = c->voiding = false;
	if (c->failing) {
		report_failed_step(c);
		coord_error(c, &c->step_error);
	}
	c->failing = false;
	journal_dropped(c, queue_cancel(c->queue, report_cancelled, c));
}

void
coord_pass(struct coord *c)
{
	journal_passed(c);
	queue_pass(c->queue);
}

static void
ask_aside(struct coord *c, uint64_t step)
{
	struct message m = { .kind = MESSAGE_VOID };

	c->setting_aside = true;
	c->aside = step;
	m.voided.run = coord_run(c);
	m.voided.term = c->plan.term;
	m.voided.first = step;
	m.voided.count = 1;
	journal_voiding(c, step, 1, true);
	if (c->phase >= PHASE_STOP)
		return;
	fleet_ask(c->fleet, &m);
}

static void
end_aside(struct coord *c)
{
	const struct step *s = queue_step(c->queue, c->aside);
	struct fail why;

	c->setting_aside = false;
	if (!s || c->cancelling)
		return;		/* it was given up with all others */
	fail(&why, FAIL_DATA, "set aside: %llu workers died under it",
	     (unsigned long long)s->deaths);
	report_error(c, queue_id(c->queue, c->aside), "train", c->aside,
		     c->aside_worker, why.text);
	history_void(&c->history, c->aside, 1);
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
coord_set_aside(struct coord *c, uint64_t step, const char *worker)
{
	snprintf(c->aside_worker, sizeof(c->aside_worker), "%s", worker);
	if (!c->setting_aside && c->phase == PHASE_RUN)
		ask_aside(c, step);
}

/* ---- cuts and checkpoints ---- */

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
	return c->save_wanted || c->save_again ||
		(c->o.every_ms && queue_mark(c->queue) > c->tried_step &&
		 now - c->saved_ms >= c->o.every_ms);
}

/* Every so many steps is at multiples of it. */
static void
plan_save(struct coord *c, uint64_t from)
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
		plan_save(c, step);
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

/* Has the last step below it been given out just now? */
static bool
come_to_cut(struct coord *c)
{
	if (!cut_ahead(c) || queue_next(c->queue) != c->cut_step)
		return false;
	reach_cut(c);
	return true;
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
	journal_cut(c);
	if (c->phase == PHASE_RUN && recover_idle(c))
		history_forget(&c->history, c->cut_step);
}

/* A checkpoint came to its end; why it failed, or NULL. */
static void
end_checkpoint(struct coord *c, const struct fail *why, uint64_t now)
{
	const struct request *r = c->save_wanted ? queue_barrier(c->queue) :
		NULL;
	char name[CHECKPOINT_NAME];

	c->saved_ms = now;
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

static void
fill_job(struct coord *c, const struct ask *saved, uint64_t now)
{
	struct coord_job *job = &c->job;

	free(job->part);
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
	data_position(c, job->info.ledger);
	job->info.examples = c->cut_examples;
	job->info.seconds = c->trained_before +
		(double)(now - c->run_began_ms) / 1000;
	job->part = mem_alloc(c->o.servers, sizeof(*job->part));
	for (size_t i = 0; saved && i < c->o.servers; i++) {
		job->part[i].size = saved->saved[i].size;
		snprintf(job->part[i].hash, sizeof(job->part[i].hash),
			 "%.32s", saved->saved[i].hash);
	}
	c->job_waiting = true;
	c->cut_state = CUT_PUBLISH;
}

const struct coord_job *
coord_job(const struct coord *c)
{
	return c->job_waiting ? &c->job : NULL;
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
	end_checkpoint(c, why, now);
	if (c->job.again)
		c->cut_state = CUT_NONE;
	else
		thaw(c, why == NULL);
	coord_advance(c, now);
}

bool
coord_whole(const struct coord *c)
{
	return c->cut_state == CUT_OPEN &&
		queue_mark(c->queue) >= c->cut_step && !c->cancelling &&
		recover_idle(c);
}

void
coord_count(struct coord *c, const struct step *step, const struct result *r)
{
	if (!c->cut_reached || c->cut_for || r->step >= c->cut_step)
		return;
	c->cut_examples += r->examples;
	if (c->o.ledger)
		ledger_visits_add(c->o.ledger, &c->cut_visits, step->place,
				  r->examples);
}

/*
 * The coordinator before us may have given out steps of which we do not know,
 * and servers have them: a cut below them would hold what is not its own.
 */
static bool
can_cut(const struct coord *c)
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

	if ((due || who) && can_cut(c)) {
		call_off_cut(c);
		freeze(c, who, queue_next(c->queue));
	} else if (c->cut_state == CUT_NONE && c->next_save != WIRE_NONE &&
		   !c->final) {
		freeze(c, NULL, c->next_save);
	}
}

static void
advance_cut(struct coord *c, uint64_t now)
{
	if (c->cut_spoiled && c->cut_state == CUT_OPEN) {
		c->cut_spoiled = false;
		c->save_again = !c->cut_for;
		thaw(c, false);
	}
	come_to_cut(c);
	if (coord_whole(c) && c->cut_for)
		give_cut(c);
	else if (coord_whole(c) && journal_noted(c))
		save(c);
	if ((c->cut_state == CUT_NONE || cut_ahead(c)) && !c->cancelling)
		begin_cut(c, now);
}

/* Steps are given out up to the cut; and on, when it is known what it has. */
static void
lease(struct coord *c)
{
	lease_give_out(c);
	if (come_to_cut(c))
		lease_give_out(c);
}

/* ---- servers ---- */

static void
begin_run(struct coord *c, uint64_t now)
{
	c->begun = true;
	c->run_began_ms = c->saved_ms = now;
	c->tried_step = queue_mark(c->queue);
	plan_save(c, queue_next(c->queue));
	if (c->resumed)
		return;
	totals_reset(&c->join, now);
	totals_reset(&c->all, now);
}

/* The servers hold what they are to hold: now the workers. */
static void
go_on(struct coord *c, uint64_t now)
{
	recover_end(c, now);
	if (c->phase != PHASE_RUN)
		return;
	if (!c->begun)
		begin_run(c, now);
	c->helped_ms = now;
	/* The new term keeps those steps out. */
	if (!sync_go_on(c) && c->cancelling)
		voided(c);
	if (c->setting_aside)
		end_aside(c);
	workers_say_plan(c);
}

/* A server cannot freeze, or not write: that cut fails, the run goes on. */
static void
no_cut(struct coord *c, const struct fail *why, uint64_t now)
{
	struct message m = { .kind = MESSAGE_REFUSED };

	if (c->cut_for && !c->cut_for->gone) {
		m.request = c->cut_for->request;
		m = message_refuse(&m, why->kind, why->text);
		c->cut_for->wants_cut = false;
		outbox_send(c->outbox, c->cut_for->peer, &m);
	} else if (!c->cut_for) {
		end_checkpoint(c, why, now);
	}
	c->cut_for = NULL;
	thaw(c, false);
}

static void
answered(struct coord *c, const struct ask *ask, uint64_t now)
{
	const enum message_kind kind = ask->message.kind;

	if (c->phase == PHASE_STOP && kind != MESSAGE_STOP &&
	    kind != MESSAGE_BYE)
		return;		/* too late */
	if (ask->failed && (kind == MESSAGE_FREEZE || kind == MESSAGE_SAVE)) {
		no_cut(c, &ask->why, now);
		return;
	}
	if (ask->failed && kind != MESSAGE_THAW && kind != MESSAGE_STOP &&
	    kind != MESSAGE_BYE) {
		coord_fail(c, &ask->why, now);
		return;
	}
	switch (kind) {
	case MESSAGE_PLAN:
		if (!recover_ask_load(c))
			go_on(c, now);
		break;
	case MESSAGE_LOAD:
		go_on(c, now);
		break;
	case MESSAGE_MARK:
		c->mark_told = recover_told(c);
		break;
	case MESSAGE_VOID:
		if (c->setting_aside && ask->message.voided.count == 1 &&
		    ask->message.voided.first == c->aside)
			end_aside(c);
		else
			voided(c);
		break;
	case MESSAGE_COMMIT:
		sync_committed(c, now);
		break;
	case MESSAGE_FREEZE:
		c->cut_state = CUT_OPEN;
		break;
	case MESSAGE_SAVE:
		fill_job(c, ask, now);
		break;
	case MESSAGE_STOP:
	case MESSAGE_BYE:
		c->servers_told = true;
		break;
	default:
		break;
	}
}

static void
tell_mark(struct coord *c, uint64_t now)
{
	struct message m = { .kind = MESSAGE_MARK };
	uint64_t moved = 0;

	if (c->phase != PHASE_RUN || fleet_asking(c->fleet, MESSAGE_MARK))
		return;
	for (size_t i = 0; i < c->o.servers; i++) {
		const uint64_t mark = recover_mark(c, i);
		const uint64_t told = fleet_mark(c->fleet, i);

		if (mark > told && mark - told > moved)
			moved = mark - told;
	}
	if (moved == 0 || (moved < MARK_STEPS && now - c->mark_ms < MARK_MS))
		return;
	c->mark_ms = now;
	for (size_t i = 0; i < c->o.servers; i++)
		fleet_set_mark(c->fleet, i, recover_mark(c, i));
	m.mark.run = coord_run(c);
	m.mark.term = c->plan.term;
	fleet_ask(c->fleet, &m);
}

/* ---- requests ---- */

bool
coord_wants(const struct coord *c)
{
	return !c->no_more_requests && c->phase < PHASE_STOP && !c->full;
}

void
coord_request(struct coord *c, const char *line, uint64_t number,
	      uint64_t now)
{
	struct request r;
	struct fail why;

	journal_line(c, line, number);
	if (request_read(&r, line, &why) < 0 || data_check(c, &r, &why) < 0) {
		/* It waits for its turn: what was asked before is done. */
		fail_at(&why, "request %llu", (unsigned long long)number);
		request_release(&r);
		r.op = REQUEST_BAD;
		r.why = mem_text(why.text);
	}
	if (r.op == REQUEST_NONE)
		return;
	if (r.op == REQUEST_STOP) {
		c->told_to_stop = true;
		request_release(&r);
		coord_end_of_requests(c, now);
		return;
	}
	queue_put(c->queue, &r);
	c->full = queue_requests(c->queue) >= MAX_REQUESTS;
}

void
coord_end_of_requests(struct coord *c, uint64_t now)
{
	c->no_more_requests = true;
	coord_advance(c, now);
}

void
coord_stop(struct coord *c, uint64_t now)
{
	struct fail none = { 0 };

	c->asked_ms = now;
	if (c->phase < PHASE_RUN) {
		coord_fail(c, &none, now);
		return;
	}
	c->no_more_requests = c->stopping = true;
	coord_advance(c, now);
}

/* Peers may be away or stopped: whoever asked us to stop will not wait. */
static void
check_drain(struct coord *c, uint64_t now)
{
	struct fail none = { 0 };

	if (!c->asked_ms || now - c->asked_ms < DRAIN_MS)
		return;
	report_warning(c, "not all could be ended within %d s: %llu steps are "
		       "given up%s", DRAIN_MS / 1000, (unsigned long long)
		       (queue_next(c->queue) - queue_mark(c->queue)),
		       c->o.checkpoint ? ", and there is no last checkpoint" :
		       "");
	coord_fail(c, &none, now);
}

/* 1: the barrier at the front is behind us. */
static int
pass_save(struct coord *c, const struct request *r)
{
	char name[CHECKPOINT_NAME];
	struct fail why;

	if (!c->o.checkpoint) {
		fail(&why, FAIL_CONFIG, "save: there is no --checkpoint=DIR");
		report_error(c, r->id, "save", WIRE_NONE, NULL, why.text);
		coord_error(c, &why);
	} else if (c->saved_step == queue_mark(c->queue)) {
		checkpoint_name(c->saved_step, name);
		report_saved(c, r->id, name, c->saved_step);
	} else {
		/* A cut that was begun before lacks steps. */
		c->save_wanted = c->save_wanted ||
			c->cut_state == CUT_NONE || cut_ahead(c);
		return 0;
	}
	coord_pass(c);
	return 1;
}

static int
pass_barrier(struct coord *c, const struct request *r, uint64_t now)
{
	struct fail why;

	switch (r->op) {
	case REQUEST_JOIN:
		report_totals(c, r->id, "join", &c->join, now,
			      c->step_error.kind ? c->step_error.text :
			      NULL);
		c->step_error.kind = 0;
		totals_reset(&c->join, now);
		coord_pass(c);
		return 1;
	case REQUEST_EPOCH:
		return data_epoch(c, r, now);
	case REQUEST_EVAL:
		if (!c->evaluating || c->shards_left > 0) {
			evaluate_give_out(c, r, now);
			return 0;
		}
		c->evaluating = false;
		report_totals(c, r->id, "eval", &c->eval, now, NULL);
		coord_pass(c);
		return 1;
	case REQUEST_BAD:
		fail(&why, FAIL_DATA, "%.500s", r->why);
		report_error(c, NULL, request_name(r->op), WIRE_NONE, NULL,
			     why.text);
		coord_pass(c);
		coord_error(c, &why);
		return 1;
	default:
		return pass_save(c, r);
	}
}

/* What is at the front that only workers can do? */
static enum request_op
work_waiting(const struct coord *c)
{
	const struct request *r = queue_barrier(c->queue);

	if (!recover_idle(c))
		return REQUEST_TRAIN;
	if (queue_idle(c->queue) || c->cancelling)
		return REQUEST_NONE;
	if (!data_ready(c))
		return REQUEST_EVAL;	/* whoever can read */
	if (!r || r->op == REQUEST_EPOCH)
		return REQUEST_TRAIN;
	return r->op == REQUEST_EVAL ? REQUEST_EVAL : REQUEST_NONE;
}

/*
 * Work, and nobody to do it: none is here, or too few to begin, or all have
 * used up their data.  That is an error, in time.
 */
static void
check_workers(struct coord *c, uint64_t now)
{
	const enum request_op op = work_waiting(c);
	const size_t present = workers_present(c);
	const double seconds = (double)c->o.timeout_ms / 1000;
	struct fail why;

	if (op == REQUEST_NONE || (c->started && workers_can(c, op))) {
		c->helped_ms = now;
	} else if (c->started && present > 0) {
		if (now - c->helped_ms < EXHAUSTED_MS)
			return;
		fail(&why, FAIL_NOINPUT, "no worker has data left: %llu steps "
		     "were done, %llu were not (ps-work --repeat reads "
		     "again)", (unsigned long long)c->all.steps,
		     (unsigned long long)queue_waiting(c->queue));
		report_error(c, NULL, "train", WIRE_NONE, NULL, why.text);
		if (recover_idle(c))
			wind_up(c, &why);
		else	/* what a server lacks nobody can give it */
			coord_fail(c, &why, now);
	} else if (now - c->helped_ms >= c->o.timeout_ms) {
		if (present == 0)
			fail(&why, FAIL_PEER, "no worker within %g s, %llu "
			     "steps were done", seconds,
			     (unsigned long long)c->all.steps);
		else
			fail(&why, FAIL_PEER, "%zu of %llu workers within "
			     "%g s", workers_ready(c),
			     (unsigned long long)c->o.min_workers, seconds);
		coord_fail(c, &why, now);
	}
}

/* The last checkpoint, then everybody may go. */
static void
end_run(struct coord *c, uint64_t now)
{
	call_off_cut(c);
	if (c->o.checkpoint && !c->final) {
		c->final = true;
		if (c->saved_step == queue_mark(c->queue)) {
			c->cut_step = c->saved_step;
			fill_job(c, NULL, now);
		} else {
			freeze(c, NULL, queue_mark(c->queue));
		}
		return;
	}
	stop_members(c, now);
}

/*
 * Hang up only when those who called have left: what is still on its way to
 * them when a connection ends, as our STOP may be, is dropped.
 */
static void
check_over(struct coord *c, uint64_t now)
{
	bool left = c->servers_told || fleet_present(c->fleet) == 0;
	uint64_t workers = 0;

	for (const struct member *m = c->member; m; m = m->next) {
		left = left && m->gone;
		workers += m->role == ROLE_WORKER;
	}
	/* Who has not called yet would call in vain; a run that broke off
	   had at least one. */
	left = left && workers >= c->o.workers && (workers > 0 || !c->resumed);
	if (c->phase == PHASE_STOP && (left || now >= c->deadline_ms))
		c->phase = PHASE_OVER;
}

static void
advance_stopping(struct coord *c)
{
	if (!c->stopping || c->cancelling || c->setting_aside ||
	    !recover_idle(c) || !can_cut(c))
		return;
	if (c->rounds)
		lease_give_out(c);	/* the rest of what was begun */
	if (c->rounds ? sync_running(c) : queue_running(c->queue) > 0)
		return;
	if (queue_mark(c->queue) < queue_next(c->queue)) {
		coord_void(c);	/* steps whose workers have died */
		return;
	}
	if (c->save_wanted && c->cut_state != CUT_NONE)
		return;		/* it is under way */
	c->evaluating = c->save_wanted = false;
	give_up(c);
}

void
coord_advance(struct coord *c, uint64_t now)
{
	const struct request *r;

	c->now_ms = now;
	/* Taken many at a time, they are made safe many at a time. */
	if (queue_requests(c->queue) <= MAX_REQUESTS / 2)
		c->full = false;
	if (c->phase < PHASE_STOP && fleet_changed(c->fleet))
		recover_begin(c);
	if (c->phase == PHASE_GREET && fleet_welcome(c->fleet) &&
	    !standby_awaited(c, now) && !standby_step_in(c, now))
		recover_ask_plan(c);
	standby_tell(c, now);
	check_over(c, now);
	if (c->phase != PHASE_RUN)
		return;
	if (workers_ready(c) >= c->o.min_workers)
		c->started = true;
	if (c->started)
		sync_begin(c);
	advance_stopping(c);
	tell_void(c);
	if (!data_ready(c) && !c->stopping && !queue_idle(c->queue))
		data_count(c);
	while (!c->cancelling && recover_idle(c) && data_ready(c) &&
	       (r = queue_barrier(c->queue)) &&
	       pass_barrier(c, r, now) && c->phase == PHASE_RUN)
		;
	advance_cut(c, now);
	journal_lines(c);
	if (c->phase == PHASE_RUN && c->started && data_ready(c) &&
	    !c->unnoted && (!c->cancelling || !recover_idle(c)))
		lease(c);
	tell_mark(c, now);
	if (c->no_more_requests && queue_idle(c->queue) && !c->cancelling &&
	    !c->setting_aside && recover_idle(c) &&
	    (c->cut_state == CUT_NONE || cut_ahead(c)) &&
	    c->phase == PHASE_RUN)
		end_run(c, now);
}

/* ---- what happens ---- */

void
coord_up(struct coord *c, uint64_t peer, uint64_t now)
{
	if (fleet_knows(c->fleet, peer))
		fleet_up(c->fleet, peer, now);
	else if (standby_knows(c, peer))
		standby_up(c, peer, now);
}

void
coord_down(struct coord *c, uint64_t peer, uint64_t now)
{
	if (fleet_knows(c->fleet, peer))
		fleet_down(c->fleet, peer, now);
	else if (standby_knows(c, peer))
		standby_down(c, peer, now);
}

void
coord_hear(struct coord *c, uint64_t peer, const struct message *m,
	   uint64_t now)
{
	const struct ask *ended;
	struct fail why;

	if (standby_knows(c, peer))
		standby_hear(c, peer, m, now);
	else if (!fleet_knows(c->fleet, peer))
		workers_hear(c, peer, m, now);
	else if (m->kind == MESSAGE_STANDBY)
		standby_told(c, fleet_server(c->fleet, peer), m, now);
	else if (fleet_hear(c->fleet, peer, m, now, &ended, &why) < 0)
		coord_fail(c, &why, now);
	else if (ended)
		answered(c, ended, now);
	coord_advance(c, now);
}

void
coord_somebody_left(struct coord *c, uint64_t now)
{
	workers_probe(c, now);
	coord_advance(c, now);
}

void
coord_tick(struct coord *c, uint64_t now)
{
	struct fail why;

	if (c->phase < PHASE_STOP)
		check_drain(c, now);
	check_over(c, now);
	if (c->phase >= PHASE_STOP)
		return;
	if (fleet_tick(c->fleet, now, c->o.timeout_ms, c->o.patience_ms,
		       &why) < 0) {
		c->server_gone = true;
		if (c->asked_ms) {	/* they may be ending, too */
			report_warning(c, "%s", why.text);
			why = (struct fail){ 0 };
		}
		coord_fail(c, &why, now);
		return;
	}
	standby_watch(c, now);
	recover_watch(c, now);
	tell_mark(c, now);
	if (now - c->probed_ms >= PROBE_MS)
		workers_probe(c, now);
	if (c->phase == PHASE_RUN)
		check_workers(c, now);
	coord_advance(c, now);
}
