/*
 * The coordinator: the functions here receive the events, and ask each part
 * what follows from them.  This file alone knows all parts, which
 * coord_private.h puts in order; it passes a fact that one part finds on to the
 * parts that need it.
 *
 * Where future work would be plugged in:
 *
 *  - Steps that only some workers can run: struct call names their step line
 *    already; a part of its own, which keeps by each member's index the step
 *    lines that it can run; and one more question in worker_leasable().
 *  - Relays for the coordinator's own messages (today's only carry those
 *    between workers and servers): a part below members, which sends a message
 *    for a member to the peer that it is behind; coord_receive() asks it first
 *    who has sent a message.
 *  - Servers that come and go: a part that recover asks, between GREET and
 *    PLAN, which servers there are.  The state of each server (in rerun,
 *    watermarks, standby, recover, the fleet) is made anew with the plan's
 *    number.
 */
#include "coord/coord.h"

#include "base/mem.h"
#include "base/pause.h"
#include "coord/coord_background.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_data.h"
#include "coord/coord_end.h"
#include "coord/coord_ending.h"
#include "coord/coord_evaluate.h"
#include "coord/coord_journal.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_private.h"
#include "coord/coord_receive.h"
#include "coord/coord_records.h"
#include "coord/coord_recover.h"
#include "coord/coord_relays.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_standby.h"
#include "coord/coord_status.h"
#include "coord/coord_steps.h"
#include "coord/coord_submit.h"
#include "coord/coord_sync.h"
#include "coord/coord_watch.h"
#include "coord/coord_watermarks.h"
#include "coord/scheduler.h"
#include "coord/submitters.h"
#include "wire/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERM		1		/* of a run that nobody has resumed */
#define PLAN_NUMBER	1
#define MAX_REQUESTS	4096		/* that are read ahead, */
#define MAX_ARGUMENTS	((size_t)16 << 20)	/* and bytes of arguments */
#define MAX_LINES	((size_t)16 << 20)	/* bytes, not in the journal */
#define PROBE_MS	250		/* or a quarter of a lease */

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
	struct partitioner how = o->partitioner;
	size_t *group;

	for (size_t i = 0; i < o->servers; i++)
		endpoint[i] = o->server[i] ? o->server[i] : (char *)"-";
	plan->codings = codings_new(variables);
	codings_make(plan->codings, WAY_PUSH, &o->push, v);
	codings_make(plan->codings, WAY_PULL, &o->pull, v);
	plan->piece_bytes = o->piece_bytes;
	plan->every = coding_find_delta(&o->pull) ? o->every_steps : 0;
	how.group = group = codings_groups(plan->codings, v);
	*place = partition_plan(v, variables, &how, &o->placement, o->servers,
				places);
	free(group);
	plan_make(plan, model, *place, *places, endpoint, o->servers);
	plan->number = PLAN_NUMBER;
	plan->term = TERM;
	plan->seed = o->seed;
	plan->batches = o->batches > 0 ? o->batches : 1;
	memcpy(plan->run, o->run, PLAN_RUN);
	free(endpoint);
}

void
coord_print_plan(struct text *out, const struct coord_options *o,
		 const struct model *model, const struct plan_bags *bags)
{
	const bool sync = o->mode == MODE_SYNC;
	const struct plan_steps steps = {
		.batch = o->batch, .batches = o->batches,
		.replicas = sync ? o->replicas : 0,
		.beside = placement_count_beside(&o->placement),
		.backup = o->backup, .bags = *bags
	};
	struct plan plan = { 0 };
	struct place *place;
	size_t places;

	coord_plan(o, model, &plan, &place, &places);
	plan_print(out, &plan, model, place, places, &steps);
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
	queue_follow(c->queue, c->o.samplers);
	/* Steps that servers have from an earlier coordinator must get their
	   numbers first: see background_begin(). */
	queue_pass_background(c->queue, true);
}

/* Does every result fit into its message, and the model and plan into PLAN? */
static int
check_limits(const struct coord *c, struct fail *f)
{
	const size_t mib = (size_t)1 << 20, most = WIRE_FRAME / mib;
	const struct model_file *largest = c->source->file;

	for (size_t i = 1; i < c->source->count; i++)
		if (c->source->file[i].size > largest->size)
			largest = &c->source->file[i];
	if (c->metrics > RESULT_METRICS)
		return fail(f, FAIL_CONFIG, "a model has at most %d metrics",
			    RESULT_METRICS);
	if (c->model_frame.size > WIRE_FRAME)
		return fail(f, FAIL_CONFIG, "the model and the files that it "
			    "names have %zu MiB, more than %zu: the largest is "
			    "%s, with %zu MiB",
			    (c->model_frame.size + mib - 1) / mib, most,
			    largest->name, (largest->size + mib - 1) / mib);
	if (c->plan_frame.size > WIRE_FRAME)
		return fail(f, FAIL_CONFIG, "the plan of %zu pieces is larger "
			    "than %zu MiB: cut variables into fewer shards "
			    "(--partition)", c->plan.pieces, most);
	return 0;
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
	if (c->o.batches == 0)
		c->o.batches = 1;
	c->scheduler = &scheduler_async;
	if (o->mode == MODE_SYNC) {
		c->scheduler = &scheduler_sync;
		c->o.pack = 1;		/* a lease is one replica */
	}
	c->source = source;
	c->model = model;
	c->metric = model_metrics(model, &c->metrics);
	c->outbox = outbox;
	c->began_ms = c->now_ms = now;
	report_init(c, now);
	coord_plan(o, model, &c->plan, &place, &places);
	status_init(c, place, places);
	free(place);
	plan_write_model(&c->model_frame, source);
	plan_write(&c->plan_frame, &c->plan);
	block_write_format(&c->format_frame, &o->format,
			   o->samplers ? samplers_datasets(o->samplers) : 0);
	coord_begin_queue(c, *o->restore ? o->restored.step : 0);
	watermarks_init(c);
	cut_init(c, o->restore, *o->restore ? o->restored.step : WIRE_NONE,
		 queue_watermark(c->queue));
	members_init(c);
	relays_init(c);
	submit_init(c);
	journal_init(c);
	ending_init(c);
	end_init(c);
	data_init(c);
	lease_init(c);
	rerun_init(c);
	sync_init(c);
	cancel_init(c);
	recover_init(c);
	standby_init(c);
	watch_init(c);
	evaluate_init(c);
	background_init(c);
	if (check_limits(c, f) == 0)
		c->fleet = fleet_new(o->server, o->servers, c->plan.run, TERM,
				     o->life, outbox, now, f);
	if (c->fleet && o->any_port)
		report_warning(c, "listening on %s", o->endpoint);
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
	members_release(c);
	relays_release(c);
	fleet_free(c->fleet);
	recover_release(c);
	standby_release(c);
	watch_release(c);
	evaluate_release(c);
	background_release(c);
	cut_release(c);
	cancel_release(c);
	sync_release(c);
	lease_release(c);
	rerun_release(c);
	watermarks_release(c);
	data_release(c);
	ending_release(c);
	end_release(c);
	journal_release(c);
	report_release(c);
	status_release(c);
	queue_free(c->queue);
	submit_release(c);
	pack_release(&c->plan_frame);
	pack_release(&c->model_frame);
	pack_release(&c->format_frame);
	plan_release(&c->plan);
	free(c);
}

/*
 * Ends the run if a part of the coordinator has found an error that ends it, or
 * a record could not be written: a part cannot do that itself, for end is below
 * it.  true: the run has ended.
 */
static bool
end_if_failed(struct coord *c, uint64_t now)
{
	struct fail why;

	if (journal_failure(c, &why))
		end_fail(c, &why, now);
	if (ending_failed(c, &why))
		end_fail(c, &why, now);
	return c->phase == PHASE_END;
}

/* All servers refuse the steps that were given up, or a new term does. */
static void
void_done(struct coord *c)
{
	cut_spoil(c);
	background_spoil(c);
	cancel_done(c);
}

/* ---- servers ---- */

static void
begin_run(struct coord *c, uint64_t now)
{
	c->begun = true;
	cut_begin_run(c, now);
	if (c->resumed)
		return;
	report_begin(c, now);
}

/* All servers have the plan and the variables: now workers get the plan. */
static void
resume(struct coord *c, uint64_t now)
{
	bool again = false;

	recover_end(c, now);
	if (end_if_failed(c, now))
		return;
	if (!c->begun)
		begin_run(c, now);
	watch_helped(c);
	if (!c->scheduler->resume(c) && cancel_under_way(c)) {
		again = !cancel_is_decided(c);
		if (!again)
			void_done(c);
	}
	if (cancel_is_quarantining(c))
		cancel_quarantine_done(c);
	receive_send_plan(c);
	if (again)
		cancel_begin(c);
}

static void
receive_answer(struct coord *c, const struct ask *ask, uint64_t now)
{
	const enum message_kind kind = ask->message.kind;

	if (c->phase == PHASE_END && kind != MESSAGE_STOP &&
	    kind != MESSAGE_BYE)
		return;		/* too late */
	if (kind == MESSAGE_FREEZE && !cut_is(c, ask->message.cut.cut)) {
		background_frozen(c, ask->message.cut.cut,
				  ask->failed ? &ask->why : NULL);
		return;
	}
	if (ask->failed && (kind == MESSAGE_FREEZE || kind == MESSAGE_SAVE)) {
		cut_failed(c, &ask->why, now);
		return;
	}
	if (ask->failed && kind != MESSAGE_THAW && kind != MESSAGE_STOP &&
	    kind != MESSAGE_BYE) {
		end_fail(c, &ask->why, now);
		return;
	}
	switch (kind) {
	case MESSAGE_PLAN:
		c->replicas_told = ask->message.plan.replicas;
		if (!recover_ask_load(c))
			resume(c, now);
		break;
	case MESSAGE_LOAD:
		resume(c, now);
		break;
	case MESSAGE_MARK:
		watermarks_acknowledged(c, &ask->message);
		break;
	case MESSAGE_VOID:
		if (cancel_is_answer(c, &ask->message))
			cancel_quarantine_done(c);
		else
			void_done(c);
		break;
	case MESSAGE_CHECK:
		if (sync_checked(c, ask) && cancel_under_way(c))
			cancel_begin(c);	/* which waited for this */
		break;
	case MESSAGE_COMMIT:
		steps_committed(c, now);
		break;
	case MESSAGE_FREEZE:
		cut_frozen(c);
		break;
	case MESSAGE_SAVE:
		cut_saved(c, ask, now);
		break;
	case MESSAGE_STOP:
	case MESSAGE_BYE:
		end_servers_notified(c);
		break;
	default:
		break;
	}
}

/* ---- requests ---- */

bool
coord_wants(const struct coord *c)
{
	return !ending_had_last_request(c) &&
		ending_state(c) != ENDING_SUSPEND &&
		c->phase != PHASE_END && !c->queue_full &&
		submit_wants(c) && !report_is_full(c) &&
		journal_line_bytes(c) < MAX_LINES &&
		journal_note_bytes(c) < MAX_LINES;
}

bool
coord_ends(const struct coord *c)
{
	return c->phase == PHASE_END;
}

void
coord_request(struct coord *c, const char *line, size_t size,
	      uint64_t number, uint64_t now)
{
	struct request r;

	if (submitters_open(c->submitters)) {
		submit_own(c, line, size, number);
		coord_advance(c, now);
		return;
	}
	journal_line(c, line, size, number);
	submit_read(c, &r, line, size, number);
	if (r.op == REQUEST_NONE)
		return;
	if (r.op == REQUEST_STATUS) {
		request_release(&r);
		submit_at_once(c, line, size, number);
		return;
	}
	if (r.op == REQUEST_STOP) {
		c->told_to_stop = true;
		request_release(&r);
		coord_end_of_requests(c, now);
		return;
	}
	queue_put(c->queue, &r);
	c->queue_full = queue_requests(c->queue) >= MAX_REQUESTS ||
		queue_bytes(c->queue) >= MAX_ARGUMENTS;
}

void
coord_end_of_requests(struct coord *c, uint64_t now)
{
	/* Other submitters may have more: one of them has to request stop. */
	if (submitters_open(c->submitters) && !c->told_to_stop) {
		submitters_close(c->submitters, SUBMITTER_OWN);
		return;
	}
	ending_last_request(c);
	coord_advance(c, now);
}

/* 1: the save request at the front has been passed; 0: it waits. */
static int
pass_save(struct coord *c, const struct request *r)
{
	char name[CHECKPOINT_NAME];
	struct fail why;

	if (!c->o.checkpoint) {
		fail(&why, FAIL_CONFIG, "save: there is no --checkpoint=DIR");
		report_error(c, r, "save", WIRE_NONE, NULL, why.text);
		ending_error(c, r, &why);
	} else if (cut_saved_step(c) == queue_watermark(c->queue)) {
		checkpoint_name(cut_saved_step(c), name);
		report_saved(c, r, name, cut_saved_step(c));
	} else {
		cut_want(c);
		return 0;
	}
	journal_pass(c);
	return 1;
}

static int
pass_barrier(struct coord *c, const struct request *r, uint64_t now)
{
	const struct request asked = { .owner = r->owner };
	struct fail why;

	switch (r->op) {
	case REQUEST_JOIN:
		status_keep_scores(c);
		report_join(c, r, cancel_error(c), now);
		cancel_error_notified(c);
		journal_pass(c);
		return 1;
	case REQUEST_EPOCH:
		if (data_epoch(c, r, now) == 0)
			return 0;
		journal_pass(c);
		return 1;
	case REQUEST_EVAL:
		if (evaluate_advance(c, r, NULL, now) != EVALUATION_DONE)
			return 0;
		journal_pass(c);
		return 1;
	case REQUEST_BAD:
		fail(&why, FAIL_DATA, "%.500s", r->why);
		report_error(c, &asked, request_name(r->op), WIRE_NONE, NULL,
			     why.text);
		journal_pass(c);
		ending_error(c, &asked, &why);
		return 1;
	default:
		return pass_save(c, r);
	}
}

/*
 * Acts on what has become of standbys.  When one has taken over, the lost
 * server may be started again as its standby: the journal has to say before
 * that where the server is now, for a coordinator that resumes the run.
 */
static void
apply_news(struct coord *c, enum standby_news news)
{
	if ((news & STANDBY_TOOK_OVER) ||
	    ((news & STANDBY_COUNTED) && c->begun))
		recover_write_servers(c, true);
	if (news & STANDBY_NEW_TERM)
		recover_begin(c);
}

/* All servers are there, or the standbys that took over. */
static void
servers_greeted(struct coord *c, uint64_t now)
{
	if (end_nothing_left(c))
		end_run(c, now);
	else
		recover_ask_plan(c);
}

/* Folds the journal, if the last step below a checkpoint's cut has been given
   its number, or if the journal has become long. */
static void
fold_journal(struct coord *c)
{
	uint64_t step;

	if (cut_reached(c, &step))
		records_fold(c, step, c->told_to_stop);
	else if (journal_is_long(c))
		records_shorten(c, c->told_to_stop);
}

/* Writes the turns that have begun to the journal before anything else happens.
   No more of them begin in this tick, so that they are written together. */
static void
commit(struct coord *c)
{
	if (journal_is_open(c) && records_commit(c, c->now_ms))
		journal_open(c, false);
}

/* Leases steps up to the next cut, and beyond it when all steps below the cut
   have numbers. */
static void
lease_steps(struct coord *c)
{
	bool more;

	do {
		steps_give_out(c);
		more = cut_come_to(c) || submit_turns(c);
		commit(c);
		fold_journal(c);
	} while (more && !journal_failed(c));
	background_begin(c);
}

/* Waits until all servers are there; and for a checkpoint that is being
   published, for only then it is known which one the servers are to load. */
static void
greet_servers(struct coord *c, uint64_t now)
{
	if (cut_publishing(c) || !fleet_welcome(c->fleet) ||
	    standby_awaited(c, now))
		return;
	if (standby_step_in(c, now))
		apply_news(c, STANDBY_TOOK_OVER);
	else
		servers_greeted(c, now);
	end_if_failed(c, now);
}

/* Passes the barriers at the front of the queue, as far as they are done, and
   advances the evaluations in the background. */
static void
pass_barriers(struct coord *c, uint64_t now)
{
	const struct request *r;

	if (ending_begun(c))
		return;
	submit_turns(c);
	if (!data_ready(c) && !queue_idle(c->queue))
		data_count(c);
	if (data_ready(c))
		background_advance(c, now);
	while (!cancel_under_way(c) && !ending_begun(c) && rerun_idle(c) &&
	       data_ready(c) && (r = queue_barrier(c->queue)) &&
	       pass_barrier(c, r, now) && c->phase == PHASE_RUN) {
		submit_turns(c);
		background_advance(c, now);
	}
}

static bool
may_lease(const struct coord *c)
{
	if (!data_ready(c) || journal_waits(c))
		return false;
	return cancel_finishes(c) ||
		(c->started && (!cancel_under_way(c) || !rerun_idle(c)));
}

/* Is nothing left to do but the final checkpoint? */
static bool
all_done(const struct coord *c)
{
	return ending_had_last_request(c) && queue_idle(c->queue) &&
		submitters_all_pending(c->submitters) == 0 &&
		!cancel_under_way(c) && !cancel_is_quarantining(c) &&
		rerun_idle(c) &&
		cut_idle(c);
}

static void
advance(struct coord *c, uint64_t now)
{
	if (workers_ready(c) >= c->o.min_workers)
		c->started = true;
	if (c->started)
		c->scheduler->begin(c);
	end_drain(c);
	cancel_notify(c);
	pass_barriers(c, now);
	cut_advance(c, now);
	fold_journal(c);
	journal_lines(c);
	commit(c);
	if (!end_if_failed(c, now) && may_lease(c))
		lease_steps(c);
	if (end_if_failed(c, now))
		return;
	watermarks_notify(c, now);
	if (all_done(c))
		end_run(c, now);
	else
		end_suspended(c);
	fold_journal(c);
}

/* With a journal coord_tick() calls this, so that one write serves all
   submitters that wait. */
static void
notify_submitters(struct coord *c)
{
	if (!submitters_open(c->submitters))
		return;
	submit_settle(c);
	records_commit(c, c->now_ms);
	if (!c->o.journal || !journal_lost(c))
		submit_notify(c);
}

void
coord_advance(struct coord *c, uint64_t now)
{
	c->now_ms = now;
	end_if_failed(c, now);
	/* Requests that are read many at a time go to the journal as one
	   record. */
	if (queue_requests(c->queue) <= MAX_REQUESTS / 2 &&
	    queue_bytes(c->queue) <= MAX_ARGUMENTS / 2)
		c->queue_full = false;
	if (c->phase != PHASE_END && fleet_changed(c->fleet))
		recover_begin(c);
	if (c->phase == PHASE_GREET)
		greet_servers(c, now);
	standby_notify(c, now);
	end_check_over(c, now);
	relays_notify(c);
	if (c->phase == PHASE_RUN)
		advance(c, now);
	if (!c->o.journal)
		notify_submitters(c);
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

/* A journal that is older than the servers know (it was restored or cut short)
   is left as it is. */
static void
fleet_failed(struct coord *c, const struct fail *why, uint64_t now)
{
	if (fleet_stale(c->fleet))
		journal_lose(c);
	end_fail(c, why, now);
}

static void
receive_submitter(struct coord *c, uint64_t peer, const struct message *m,
		  uint64_t now)
{
	submit_receive(c, peer, m, now);
	if (journal_note_bytes(c) >= MAX_LINES)
		records_commit(c, now);
}

void
coord_receive(struct coord *c, uint64_t peer, const struct message *m,
	      uint64_t now)
{
	const struct ask *ended;
	struct fail why;

	if (standby_knows(c, peer))
		apply_news(c, standby_receive(c, peer, m, now));
	else if (submit_is_for(c, peer, m))
		receive_submitter(c, peer, m, now);
	else if (!fleet_knows(c->fleet, peer))
		receive_member(c, peer, m, now);
	else if (m->kind == MESSAGE_STANDBY)
		apply_news(c, standby_notified(c, fleet_server(c->fleet, peer),
					       m, now));
	else if (fleet_receive(c->fleet, peer, m, now, &ended, &why) < 0)
		fleet_failed(c, &why, now);
	else if (ended)
		receive_answer(c, ended, now);
	coord_advance(c, now);
}

static void
probe(struct coord *c, uint64_t now)
{
	receive_probe(c, now);
	submit_probe(c, now);
}

void
coord_somebody_left(struct coord *c, uint64_t now)
{
	probe(c, now);
	coord_advance(c, now);
}

/* If this process was stopped for a while, the silence of its peers in that
   time does not count. */
static void
note_pause(struct coord *c, uint64_t now)
{
	const uint64_t pause = pause_since(&c->ticked_ms, now, c->o.lease_ms);

	if (pause == 0)
		return;
	fleet_skip_pause(c->fleet, now, pause);
	standby_skip_pause(c, now);
	watch_skip_pause(c, now);
	submitters_skip_pause(c->submitters, now);
}

static void
tick(struct coord *c, uint64_t now)
{
	struct fail why;

	note_pause(c, now);
	report_left_out(c, now);
	if (c->phase != PHASE_END)
		end_check_drain(c, now);
	end_check_over(c, now);
	if (c->phase == PHASE_END)
		return;
	if (fleet_tick(c->fleet, now, c->o.lease_ms,
		       end_patience(c, c->o.timeout_ms),
		       end_patience(c, c->o.patience_ms), &why) < 0) {
		end_without(c, &why, now);
		return;
	}
	apply_news(c, standby_watch(c, now));
	recover_watch(c, now);
	watermarks_notify(c, now);
	if (now - c->probed_ms >= PROBE_MS ||
	    now - c->probed_ms >= c->o.lease_ms / 4)
		probe(c, now);
	receive_silence(c, now);
	if (c->phase == PHASE_RUN)
		watch_workers(c, now);
	watch_servers(c, now);
	if (!end_if_failed(c, now) && c->phase == PHASE_RUN) {
		receive_late(c, now);
		if (watch_idle(c, steps_limit(c), now))
			receive_anew(c);
	}
	coord_advance(c, now);
}

void
coord_tick(struct coord *c, uint64_t now)
{
	bool open;

	c->now_ms = now;
	journal_measure_write(c, now);
	open = submit_can_commit(c, now);
	journal_open(c, open);
	tick(c, now);
	if (open)
		notify_submitters(c);
	journal_open(c, false);
	end_if_failed(c, now);
}

bool
coord_holds(const struct coord *c)
{
	return submit_is_awaited(c, c->now_ms);
}

void
coord_stop(struct coord *c, uint64_t now)
{
	if (end_ask(c, now))
		coord_advance(c, now);
}

void
coord_output_closed(struct coord *c, const struct fail *why, bool again,
		    uint64_t now)
{
	if (end_output_closed(c, why, again, now))
		coord_advance(c, now);
}

void
coord_published(struct coord *c, const struct fail *why, uint64_t now)
{
	cut_published(c, why, now);
	coord_advance(c, now);
}

void
coord_note(struct coord *c, uint64_t written, bool now_or_never,
	   uint64_t now)
{
	/* With submitters coord_tick() writes the journal. */
	if (submitters_open(c->submitters)) {
		if (now_or_never)
			records_commit(c, now);
		return;
	}
	/* A whole cut waits to be saved until the ends of its steps are
	   safe. */
	if (records_ends(c, written, now_or_never, cut_whole(c), now))
		coord_advance(c, now);
	end_if_failed(c, now);
}

void
coord_finish(struct coord *c, uint64_t written, uint64_t now)
{
	coord_note(c, written, true, now);
	journal_lines(c);	/* lines from a pipe cannot be read again */
	if (!ending_is_left(c))
		records_finished(c);
}
