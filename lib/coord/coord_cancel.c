/*
 * The steps that the coordinator gives up: all that are under way, after an
 * error or at the end; or a single one, which kills its workers.  First the
 * servers are told (VOID): from then on they refuse the gradients of these
 * steps.
 *
 *	NONE --cancel_begin()--> DRAIN		(workers end what they are at)
 *	DRAIN --cancel_notify()--> VOID		(servers are told)
 *	DRAIN, VOID --cancel_begin()--> DRAIN	(a new term, before all servers
 *						had answered)
 *	VOID --cancel_done()--> NONE
 *	DRAIN --cancel_done()--> NONE		(a new term, in rounds)
 *	DRAIN, VOID --cancel_give_up()--> NONE	(the run ends)
 *
 * and of the single step:
 *
 *	none --cancel_quarantine()--> asked --cancel_quarantine_done()--> none
 */
#include "coord/coord_cancel.h"

#include "base/mem.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/scheduler.h"
#include "coord/submitters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cancel {
	enum { CANCEL_NONE, CANCEL_DRAIN, CANCEL_VOID } state;
	uint64_t died_ms, hung_ms;	/* when a worker last died, or hung;
					   0: none has */

	/* the error of a failed step, until a join has reported it */
	struct fail error;
	bool failing;		/* steps are given up because of this one: */
	uint64_t step;
	struct request asked;	/* its request: only id and owner */
	char worker[32];

	/* the step that is being quarantined, and the last worker that died
	   under it */
	bool aside;
	uint64_t aside_step, deaths;
	char aside_worker[32];

	uint64_t failed_steps, aside_steps;
};

void
cancel_init(struct coord *c)
{
	c->cancel = mem_alloc(1, sizeof(*c->cancel));
}

void
cancel_release(struct coord *c)
{
	request_release(&c->cancel->asked);
	free(c->cancel);
}

bool
cancel_under_way(const struct coord *c)
{
	return c->cancel->state != CANCEL_NONE;
}

bool
cancel_is_quarantining(const struct coord *c)
{
	return c->cancel->aside;
}

bool
cancel_is_of(const struct coord *c, uint64_t step)
{
	return c->cancel->failing && c->cancel->step == step;
}

struct cancel_figures
cancel_figures(const struct coord *c)
{
	return (struct cancel_figures){ c->cancel->failed_steps,
					c->cancel->aside_steps };
}

/* ---- the error of a step ---- */

void
cancel_fail(struct coord *c, uint64_t step, const char *worker,
	    const struct fail *why)
{
	struct cancel *v = c->cancel;
	const struct request *r = queue_request(c->queue, step);

	v->error = *why;
	request_release(&v->asked);
	v->asked.id = r->id ? mem_text(r->id) : NULL;
	v->asked.owner = r->owner;
	v->step = step;
	snprintf(v->worker, sizeof(v->worker), "%s", worker);
	v->failing = true;
}

const char *
cancel_error(const struct coord *c)
{
	return c->cancel->error.kind ? c->cancel->error.text : NULL;
}

void
cancel_error_notified(struct coord *c)
{
	c->cancel->error.kind = 0;
}

static void
report_failed_step(struct coord *c)
{
	const struct cancel *v = c->cancel;

	report_error(c, &v->asked, "train", v->step, v->worker,
		     v->error.text);
	c->cancel->failed_steps++;
	if (queue_step(c->queue, v->step))
		journal_void(c, v->step);
	queue_end(c->queue, v->step);
}

/* ---- all of them ---- */

/* Gives up the evaluations in the background.  With submitters coord_submit.c
   reports to each what it loses. */
static void
give_up_background(struct coord *c)
{
	const struct request *r;

	while ((r = queue_background(c->queue, 0))) {
		if (!submitters_open(c->submitters))
			report_passed_over(c, r);
		journal_background(c, 0, true);
		queue_background_end(c->queue, 0, true);
	}
}

/* Gives up the barrier at the front; the same applies. */
static void
drop_barrier(struct coord *c)
{
	if (submitters_open(c->submitters)) {
		queue_replay_end(c->queue, 1);
		journal_dropped(c, 1);
		return;
	}
	report_passed_over(c, queue_barrier(c->queue));
	journal_pass(c);
}

void
cancel_give_up(struct coord *c)
{
	/* With submitters coord_submit.c reports what each has pending. */
	void (*tell)(void *, const struct request *, uint64_t) =
		submitters_open(c->submitters) ? NULL : report_cancelled;

	if (c->cancel->failing)
		report_failed_step(c);
	c->cancel->failing = false;
	c->cancel->state = CANCEL_NONE;
	journal_ending(c);
	give_up_background(c);
	while (!queue_idle(c->queue)) {
		journal_dropped(c, queue_cancel(c->queue, tell, c));
		if (queue_barrier(c->queue))
			drop_barrier(c);
	}
	report_given_up(c);
}

/* Packs the ranges of these steps that have a number, but were never leased. */
static void
pack_waiting(struct pack *out, const struct coord *c, uint64_t first,
	     uint64_t count)
{
	struct ranges waiting = { 0 };

	for (uint64_t i = first; i < first + count; i++) {
		const struct step *s = queue_step(c->queue, i);

		if (s && s->state == STEP_WAITING)
			ranges_add(&waiting, i, 1);
	}
	pack_uint(out, waiting.count);
	for (size_t i = 0; i < waiting.count; i++) {
		pack_uint(out, waiting.range[i].first);
		pack_uint(out, waiting.range[i].end);
	}
	ranges_release(&waiting);
}

/* Writes the record that these steps are given up: one step, after this many
   deaths; or, with deaths 0, all that are under way. */
static void
write_void(struct coord *c, uint64_t first, uint64_t count, uint64_t deaths)
{
	const struct cancel *v = c->cancel;
	struct pack out = { 0 };

	pack_uint(&out, first);
	pack_uint(&out, count);
	pack_uint(&out, deaths);
	pack_uint(&out, v->failing);
	pack_uint(&out, v->step);
	pack_uint(&out, v->failing ? v->error.kind : 0);
	pack_text(&out, v->failing ? v->error.text : "");
	pack_text(&out, deaths > 0 ? v->aside_worker : v->worker);
	pack_text(&out, v->asked.id ? v->asked.id : "");
	pack_uint(&out, v->asked.owner);
	pack_uint(&out, ending_state(c) == ENDING_DRAIN);
	pack_waiting(&out, c, first, count);
	journal_add(c, JOURNAL_VOID, &out, true);
	pack_reset(&out);
	/* The last fold takes the requests of steps under way for done, which
	   is no longer true: an empty fold revokes it. */
	if (deaths == 0 && journal_folded(c) > queue_watermark(c->queue))
		journal_add(c, JOURNAL_FOLD, &out, false);
	pack_release(&out);
}

static void
send_void(struct coord *c, uint64_t first, uint64_t count)
{
	struct message m = { .kind = MESSAGE_VOID };

	m.voided.run = plan_run(&c->plan);
	m.voided.term = c->plan.term;
	m.voided.first = first;
	m.voided.count = count;
	if (!journal_failed(c))
		fleet_ask(c->fleet, &m);
}

/* Decides which steps are void, and, with samplers, which of them nobody has
   begun, so that other steps can read their records; and writes that. */
static void
decide_void_steps(struct coord *c)
{
	const uint64_t low = queue_watermark(c->queue);

	c->cancel->state = CANCEL_VOID;
	if (!c->scheduler->rounds(c) && c->o.samplers)
		queue_unlease(c->queue);
	write_void(c, low, queue_next(c->queue) - low, 0);
}

/*
 * Does a server lack steps that have ended?  Some of these may lie above the
 * low watermark, in the range that servers are to refuse: they are run again
 * first.  In sync there are none above it, for rounds end in order.
 */
static bool
servers_lack_steps(const struct coord *c)
{
	return c->o.mode != MODE_SYNC && !rerun_idle(c);
}

void
cancel_worker_died(struct coord *c)
{
	c->cancel->died_ms = c->now_ms;
}

void
cancel_worker_hangs(struct coord *c)
{
	c->cancel->hung_ms = c->now_ms;
}

static bool
awaits_worker(const struct coord *c)
{
	const uint64_t died = c->cancel->died_ms, hung = c->cancel->hung_ms;

	return (died && c->now_ms - died < c->o.lease_ms) ||
		(hung && c->now_ms - hung < c->o.patience_ms &&
		 workers_hanging(c));
}

/*
 * Steps that were leased and came back may have been pushed, by a worker that
 * is gone or in an earlier term: given up, they would be on servers without
 * having been reported.  So they are done first, as long as there is a worker
 * for them, or may be one soon: a worker that has just died may be started
 * again, within lease_ms; one that hangs may answer again; and when the
 * coordinator was started again, all workers are yet to come.
 */
bool
cancel_finishes(const struct coord *c)
{
	const bool early = !c->started &&
		c->now_ms - c->began_ms < c->o.timeout_ms;

	return c->cancel->state == CANCEL_DRAIN && !c->scheduler->rounds(c) &&
		data_ready(c) && !lease_cancelling(c) &&
		queue_returned(c->queue) > 0 &&
		(early || workers_can(c, REQUEST_TRAIN) ||
		 awaits_worker(c));
}

/*
 * The steps that workers were at when they got CANCEL have been done by now,
 * and count.  Only the rest is void: nobody has pushed these steps, and servers
 * are to refuse them; later steps can read the records of those that nobody has
 * begun.  The ends of steps go to the journal before the record that gives up
 * the rest: without them a replay could not know which steps are void, and
 * which have to be done again.
 */
void
cancel_notify(struct coord *c)
{
	if (c->cancel->state != CANCEL_DRAIN || c->scheduler->committing(c) ||
	    lease_cancelling(c) || servers_lack_steps(c) ||
	    cancel_finishes(c) || lease_held(c) || !journal_await(c))
		return;
	decide_void_steps(c);
	send_void(c, queue_watermark(c->queue), queue_next(c->queue) -
		  queue_watermark(c->queue));
}

/*
 * Gives the next number to the step whose turn it is.  An epoch at the front
 * begins, as it did under an earlier coordinator: servers may have steps of
 * it.  false: no step is left.
 */
static bool
number_next_step(struct coord *c)
{
	const struct request *r;
	struct lease_terms l;
	uint64_t left;

	queue_pass_background(c->queue, true);
	r = queue_barrier(c->queue);
	if (r && r->op == REQUEST_EPOCH && data_ready(c) &&
	    !queue_begun(c->queue, &left))
		data_begin_epoch(c, r, c->now_ms);
	return queue_replay_next(c->queue, &l);
}

void
cancel_begin(struct coord *c)
{
	const uint64_t next = queue_next(c->queue);

	c->cancel->state = CANCEL_DRAIN;
	if (c->scheduler->committing(c))
		return;		/* that round ends first */
	c->scheduler->give_up(c);
	/* A number that servers know must not go to a later step. */
	while (queue_next(c->queue) < fleet_high_watermark(c->fleet) &&
	       number_next_step(c))
		;
	if (!rerun_record(c, next))
		return;
	lease_cancel(c, queue_watermark(c->queue),
		     queue_next(c->queue) - queue_watermark(c->queue));
	if (!c->scheduler->rounds(c)) {
		if (c->cancel->failing)
			queue_quarantine(c->queue, c->cancel->step);
		queue_return_again(c->queue, fleet_high_watermark(c->fleet));
	}
	cancel_notify(c);
}

/* With submitters: the one whose step failed loses what it had under way.  What
   that was is reported when the rest of its requests is given up. */
static void
drop_failed(struct coord *c)
{
	struct cancel *v = c->cancel;
	const size_t owner = v->failing ? v->asked.owner : SUBMITTER_NONE;

	journal_dropped_of(c, owner);
	queue_cancel_of(c->queue, owner);
	if (v->failing)
		submitters_owe(c->submitters, v->asked.owner, v->error.text);
	v->failing = false;
	cancel_error_notified(c);
}

void
cancel_done(struct coord *c)
{
	if (c->cancel->state != CANCEL_VOID)	/* a new term came first */
		decide_void_steps(c);
	for (uint64_t s = queue_watermark(c->queue); s < queue_next(c->queue);
	     s++)
		if (queue_step(c->queue, s))
			rerun_void(c, s);
	c->cancel->state = CANCEL_NONE;
	if (c->cancel->failing) {
		report_failed_step(c);
		ending_error(c, &c->cancel->asked, &c->cancel->error);
	}
	if (submitters_open(c->submitters)) {
		drop_failed(c);
		return;
	}
	c->cancel->failing = false;
	if (ending_state(c) == ENDING_DRAIN)
		journal_ending(c);
	journal_dropped(c, queue_cancel(c->queue, report_cancelled, c));
	report_given_up(c);
}

bool
cancel_is_decided(const struct coord *c)
{
	return c->cancel->state == CANCEL_VOID || c->scheduler->rounds(c);
}

/* ---- a step that is quarantined ---- */

static void
begin_quarantine(struct coord *c, uint64_t step)
{
	const struct step *s = queue_step(c->queue, step);
	const struct member *worker = s->worker;
	struct cancel *v = c->cancel;

	v->aside = true;
	v->aside_step = step;
	v->deaths = s->deaths;
	memcpy(v->aside_worker, worker->name, sizeof(v->aside_worker));
	write_void(c, step, 1, s->deaths);
	send_void(c, step, 1);
}

bool
cancel_is_answer(const struct coord *c, const struct message *asked)
{
	return c->cancel->aside && asked->voided.count == 1 &&
		asked->voided.first == c->cancel->aside_step;
}

void
cancel_quarantine_done(struct coord *c)
{
	struct cancel *v = c->cancel;
	const struct step *s = queue_step(c->queue, v->aside_step);
	struct fail why;

	v->aside = false;
	if (!s || cancel_under_way(c))
		return;		/* the step is given up with all others */
	fail(&why, FAIL_DATA, "quarantined: %llu workers died under it",
	     (unsigned long long)v->deaths);
	report_error(c, queue_request(c->queue, v->aside_step), "train",
		     v->aside_step, v->aside_worker, why.text);
	v->aside_steps++;
	rerun_void(c, v->aside_step);
	journal_void(c, v->aside_step);
	fail_at(&why, "step %llu", (unsigned long long)v->aside_step);
	ending_note(c, queue_request(c->queue, v->aside_step), &why);
	queue_end(c->queue, v->aside_step);
	/* Begin with the next step that was found meanwhile, if any. */
	for (uint64_t i = queue_watermark(c->queue); i < queue_next(c->queue);
	     i++)
		if ((s = queue_step(c->queue, i)) &&
		    s->state == STEP_QUARANTINED) {
			begin_quarantine(c, i);
			return;
		}
}

void
cancel_quarantine(struct coord *c, uint64_t step)
{
	if (!c->cancel->aside && c->phase == PHASE_RUN)
		begin_quarantine(c, step);
}

/* ---- in the journal ---- */

int
cancel_number_up_to(struct coord *c, uint64_t step)
{
	const uint64_t first = queue_next(c->queue);

	while (queue_next(c->queue) <= step)
		if (!data_ready(c) || !number_next_step(c))
			return -1;
	return rerun_record(c, first) ? 0 : -1;
}

int
cancel_read(struct coord *c, struct unpack *u)
{
	const uint64_t first = unpack_uint(u), count = unpack_uint(u);
	const uint64_t deaths = unpack_uint(u);
	struct cancel *v = c->cancel;
	char worker[sizeof(v->worker)];
	uint64_t kind, ranges;
	const char *id;
	size_t size, owner;

	v->failing = unpack_uint(u);
	v->step = unpack_uint(u);
	kind = unpack_uint(u);
	unpack_text(u, v->error.text, sizeof(v->error.text));
	unpack_text(u, worker, sizeof(worker));
	id = unpack_blob(u, &size);
	owner = (size_t)unpack_below(u, SUBMITTERS_MOST);
	if (unpack_uint(u))
		ending_read_drain(c);
	if (u->bad || first + count < first ||
	    (first + count > 0 &&
	     cancel_number_up_to(c, first + count - 1) < 0))
		return -1;
	if (deaths > 0) {
		v->aside = true;
		v->aside_step = first;
		v->deaths = deaths;
		memcpy(v->aside_worker, worker, sizeof(worker));
		return 0;
	}
	v->error.kind = kind ? message_status(kind) : 0;
	memcpy(v->worker, worker, sizeof(worker));
	request_release(&v->asked);
	v->asked.id = size > 0 ? mem_text_n(id, size) : NULL;
	v->asked.owner = owner;
	/* The steps from the low watermark to the first void one had ended,
	   but their ends are not in the journal: they are done again first. */
	v->state = first > queue_watermark(c->queue) ? CANCEL_DRAIN :
		CANCEL_VOID;
	for (ranges = unpack_uint(u); ranges > 0 && !u->bad; ranges--) {
		uint64_t step = unpack_uint(u);
		const uint64_t end = unpack_uint(u);

		for (; !u->bad && step < end && step < first + count; step++)
			queue_replay_unleased(c->queue, step);
	}
	return u->bad ? -1 : 0;
}

void
cancel_read_ended(struct coord *c, uint64_t step)
{
	if (c->cancel->aside && c->cancel->aside_step == step)
		c->cancel->aside = false;
}

void
cancel_read_dropped(struct coord *c)
{
	c->cancel->state = CANCEL_NONE;
	c->cancel->failing = false;
}

void
cancel_write_error(struct coord *c)
{
	struct pack out = { 0 };

	if (!c->cancel->error.kind)
		return;
	pack_uint(&out, c->cancel->error.kind);
	pack_text(&out, c->cancel->error.text);
	journal_add(c, JOURNAL_ERROR, &out, false);
	pack_release(&out);
}

int
cancel_read_error(struct coord *c, struct unpack *u)
{
	struct fail *error = &c->cancel->error;
	const uint64_t kind = unpack_uint(u);

	unpack_text(u, error->text, sizeof(error->text));
	error->kind = message_status(kind);
	return u->bad ? -1 : 0;
}

/* ---- what always holds ---- */

const char *
cancel_check(const struct coord *c)
{
	const struct cancel *v = c->cancel;

	if (c->phase == PHASE_END)
		return NULL;
	if (v->failing && v->state == CANCEL_NONE)
		return "coord 23: a run that cancels after a failure gives up "
			"steps";
	if (v->aside && v->aside_step >= queue_next(c->queue))
		return "coord 24: a quarantined step has a number";
	if (c->phase == PHASE_RUN && (v->state == CANCEL_VOID || v->aside) &&
	    !fleet_asking(c->fleet, MESSAGE_VOID))
		return "coord 27: servers are asked by VOID while steps wait "
			"to become void";
	return NULL;
}
