#include "worker/worker.h"

#include "base/mem.h"
#include "base/pause.h"
#include "client/run.h"
#include "data/block.h"
#include "worker/batches.h"
#include "worker/evaluate.h"
#include "worker/index.h"
#include "worker/leases.h"
#include "worker/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELLO_REQUEST	WIRE_NONE	/* no lease has it */
#define LOST_REQUEST	(WIRE_NONE - 1)

/*
 * The session with the coordinator.
 *
 *	DOWN --worker_up()--> GREETED --WELCOME--> WELCOME
 *	WELCOME --send_ready()--> READY --PLAN, of a newer term--> WELCOME
 *	any --worker_down()--> DOWN, --worker_up()--> GREETED
 */
enum session { SESSION_DOWN, SESSION_GREETED, SESSION_WELCOME,
	       SESSION_READY };

/*
 * The parts of a worker - leases, batches, pipeline, evaluate and index - know
 * nothing of the connection to the coordinator.  Only pipeline knows other
 * parts: leases and batches.  Pipeline and evaluate are NULL until there is a
 * plan.
 */
struct worker {
	struct outbox *outbox;
	struct worker_options options;
	uint64_t coordinator;		/* peer */
	enum session session;
	bool stopped;
	uint64_t heard, down_since, lost_said, ticked;
	struct fail lost;		/* what the last LOST reported */

	struct run run;
	uint64_t leased;		/* the data sets that the coordinator
					   leases, a bit for each, */
	struct record_range_format format;	/* and their format */
	struct leases *leases;
	struct batches *batches;
	struct pipeline *pipeline;
	struct evaluate *evaluate;
	struct index *index;

	bool computed;			/* since the last tick */
	bool scored;			/* what was computed last was a batch
					   of an evaluation */
	struct fail failure;	/* if it has a kind, each step and evaluation
				   fails with it */
	struct fail violation;	/* if it has a kind, nothing can be computed
				   any more, and the worker dies of it */
	struct worker_next wanted;
	char text[256];
};

struct worker *
worker_new(const struct worker_options *o, struct outbox *outbox,
	   uint64_t now, struct fail *f)
{
	struct worker *w = mem_alloc(1, sizeof(*w));

	w->outbox = outbox;
	w->options = *o;
	w->heard = w->down_since = now;
	if (outbox_dial(outbox, o->coordinator, &w->coordinator, f) < 0) {
		free(w);
		return NULL;
	}
	w->leases = leases_new(outbox, w->coordinator);
	w->batches = batches_new();
	w->index = index_new(outbox, w->coordinator);
	return w;
}

static void
send_message(struct worker *w, const struct message *m)
{
	outbox_send(w->outbox, w->coordinator, m);
}

void
worker_free(struct worker *w)
{
	const struct message bye = { .kind = MESSAGE_BYE };

	if (!w)
		return;
	if (w->session != SESSION_DOWN && !w->violation.kind)
		send_message(w, &bye);
	pipeline_free(w->pipeline);
	evaluate_free(w->evaluate);
	run_release(&w->run);
	leases_free(w->leases);
	batches_free(w->batches);
	index_free(w->index);
	free(w->format.name);
	free(w);
}

void
worker_heartbeat(struct worker *w)
{
	const struct message pong = { .kind = MESSAGE_PONG,
				      .request = HELLO_REQUEST };

	if (w->session >= SESSION_WELCOME)
		send_message(w, &pong);
}

bool
worker_stopped(const struct worker *w)
{
	return w->stopped;
}

bool
worker_has_run(const struct worker *w)
{
	return w->session != SESSION_DOWN && w->run.model;
}

const struct model *
worker_model(const struct worker *w)
{
	return w->run.model;
}

uint64_t
worker_seed(const struct worker *w)
{
	return w->run.plan.seed;
}

const char *
worker_state(struct worker *w)
{
	struct traffic t = { 0 };
	uint64_t ahead = 0;
	uint64_t steps = 0, examples = 0;
	int n;

	if (w->pipeline)
		pipeline_count(w->pipeline, &steps, &examples);
	n = snprintf(w->text, sizeof(w->text), "%llu steps, %llu examples",
		     (unsigned long long)steps, (unsigned long long)examples);
	if (w->run.client) {
		t = client_traffic(w->run.client);
		ahead = client_ahead(w->run.client);
	}
	if (t.pushed.bytes + t.pulled.bytes > 0)
		snprintf(w->text + n, sizeof(w->text) - (size_t)n, ", "
			 "%.3g MB of gradients (%.3g as floats), %.3g MB of "
			 "values (%.3g as floats, %.3g ahead of a round's end)",
			 (double)t.pushed.bytes / 1e6,
			 (double)t.pushed.floats / 1e6,
			 (double)t.pulled.bytes / 1e6,
			 (double)t.pulled.floats / 1e6, (double)ahead / 1e6);
	return w->text;
}

/* ---- between the parts ---- */

/* Drop a batch of the coordinator's data whose lease is gone. */
static void
forget_records(struct worker *w)
{
	uint64_t lease;

	if (w->leased && batches_have(w->batches, &lease) &&
	    !leases_find(w->leases, lease))
		batches_drop(w->batches);
}

static void
drop_jobs(struct worker *w)
{
	index_drop(w->index);
	if (w->evaluate)
		evaluate_drop(w->evaluate);
}

/* Send EXHAUSTED when all steps that began have ended: then the coordinator
   takes back the rest. */
static void
send_exhausted(struct worker *w)
{
	struct message m = { .kind = MESSAGE_EXHAUSTED };

	if (w->session != SESSION_READY || !pipeline_is_over(w->pipeline) ||
	    !batches_report(w->batches, &m.exhausted.records))
		return;
	m.exhausted.term = w->run.plan.term;
	send_message(w, &m);
}

/*
 * Begin no more steps if the data have ended.  Steps that were read for before
 * still have their turn.  If the data cannot be read, the step behind those
 * fails with that error.
 */
static void
end_data(struct worker *w)
{
	uint64_t step;
	const struct lease *l = leases_next(w->leases, &step);
	const struct fail *why;

	if (!w->pipeline || !batches_ended(w->batches, &why) ||
	    pipeline_prefetched(w->pipeline) > 0 || (why->kind && !l))
		return;
	if (why->kind)
		leases_failed(w->leases, l, leases_begin(w->leases, l), why);
	batches_exhaust(w->batches);
	leases_end(w->leases);
	leases_settle(w->leases);
	send_exhausted(w);
}

/* The client has one exchange at a time: an evaluation pulls for its batch when
   an exchange of steps has ended, before the next one begins. */
static void
advance(struct worker *w, uint64_t now, uint64_t now_us)
{
	if (!w->pipeline || w->violation.kind)
		return;
	pipeline_take_answers(w->pipeline, now_us);
	evaluate_pull(w->evaluate, now);
	pipeline_advance(w->pipeline, now, now_us);
	leases_settle(w->leases);
	send_exhausted(w);
}

/* ---- the coordinator and the plan ---- */

static void
hello(struct worker *w)
{
	struct message m = message_hello(ROLE_WORKER, w->options.index,
					 w->options.life, 0);

	m.request = HELLO_REQUEST;
	if (w->options.site) {
		m.frames = 2;
		m.frame[1] = (struct frame){ w->options.site,
					     strlen(w->options.site), NULL };
	}
	send_message(w, &m);
}

void
worker_up(struct worker *w, uint64_t peer, uint64_t now)
{
	if (peer != w->coordinator) {
		if (w->run.client && client_knows(w->run.client, peer))
			client_up(w->run.client, peer, now);
		return;
	}
	w->session = SESSION_GREETED;
	w->heard = now;
	hello(w);
	/* A coordinator takes back all leases of a lost connection. */
	leases_revoke(w->leases);
	forget_records(w);
	leases_settle(w->leases);
	if (w->pipeline)
		pipeline_expire(w->pipeline);
	batches_begin_term(w->batches);
	drop_jobs(w);
}

void
worker_down(struct worker *w, uint64_t peer, uint64_t now)
{
	if (peer != w->coordinator) {
		if (w->run.client && client_knows(w->run.client, peer))
			client_down(w->run.client, peer, now);
		return;
	}
	w->session = SESSION_DOWN;
	w->down_since = now;
}

/* Drop all that is of the earlier term: nobody waits for it any more. */
static int
renew_run(struct worker *w, uint64_t now, struct fail *f)
{
	leases_begin_term(w->leases, w->run.plan.term);
	forget_records(w);
	batches_assign(w->batches, BATCHES_NO_LEASE);
	batches_begin_term(w->batches);
	pipeline_begin_term(w->pipeline);
	drop_jobs(w);
	if (w->session == SESSION_READY)
		w->session = SESSION_WELCOME;
	return client_renew(w->run.client, now, f);
}

static void
begin_parts(struct worker *w)
{
	const struct model *model = w->run.model;
	const struct externals *externals = w->options.externals;
	const struct pipeline_options steps = {
		.model = model, .plan = &w->run.plan,
		.client = w->run.client, .leases = w->leases,
		.batches = w->batches, .externals = externals,
		.crew = w->options.crew,
		.failure = &w->failure, .prefetch = w->options.prefetch,
		.overlap = w->options.overlap,
		.assigned = w->options.assigned,
		.leased_data = w->leased > 0
	};
	const struct evaluate_options scores = {
		.model = model, .plan = &w->run.plan,
		.client = w->run.client, .externals = externals,
		.failure = &w->failure, .outbox = w->outbox,
		.peer = w->coordinator
	};
	size_t inputs;
	const struct input *input = model_inputs(model, &inputs);

	externals_begin(externals, model, &w->failure);
	leases_begin_term(w->leases, w->run.plan.term);
	batches_begin(w->batches, input, inputs, model_label(model));
	w->pipeline = pipeline_new(&steps);
	w->evaluate = evaluate_new(&scores);
}

/* Begin a run.  The PLAN has a third frame if the coordinator leases data. */
static int
begin_run(struct worker *w, const struct message *m, uint64_t now,
	  struct fail *f)
{
	w->leased = 0;
	if (m->frames > 2 &&
	    block_read_format(&w->format, &w->leased, m->frame[2].data,
			      m->frame[2].size, f) < 0)
		return -1;
	if (w->leased >> 1 >> (model_datasets(w->run.model) - 1) > 0)
		return fail(f, FAIL_PROTOCOL, "data sets that the model does "
			    "not have");
	if (run_dial(&w->run, ROLE_WORKER, w->options.life, w->outbox, now,
		     f) < 0)
		return -1;
	begin_parts(w);
	return 0;
}

static int
take_plan(struct worker *w, const struct message *m, uint64_t now,
	  struct fail *f)
{
	const struct message old = message_refuse(m, FAIL_AGAIN, "this term "
						  "is over, another began");

	switch (run_take_plan(&w->run, m, f)) {
	case RUN_BEGUN:
		return begin_run(w, m, now, f);
	case RUN_RENEWED:
		return renew_run(w, now, f);
	case RUN_OLDER:
		send_message(w, &old);
		return 0;
	case RUN_KNOWN:
		return 0;
	default:
		return -1;
	}
}

static void
send_ready(struct worker *w)
{
	const struct message m = { .kind = MESSAGE_READY };

	if (w->session != SESSION_WELCOME || !w->run.client ||
	    !client_ready(w->run.client))
		return;
	w->session = SESSION_READY;
	send_message(w, &m);
}

/* ---- what happens ---- */

/* Is this from an earlier connection or term?  Then it was taken back. */
static bool
is_late(const struct worker *w, uint64_t term)
{
	return w->session < SESSION_WELCOME || term != w->run.plan.term;
}

/* Has the lease records of every data set that the coordinator leases and that
   the lease's steps read? */
static bool
has_records(const struct worker *w, const struct lease *l)
{
	struct lease_slice s;
	uint64_t datasets = 0;
	size_t k = 0;

	for (; lease_slice(l, k, &s); k++)
		datasets |= s.dataset < 64 ? UINT64_C(1) << s.dataset : 0;
	return datasets == (pipeline_datasets(w->pipeline, l) & w->leased);
}

static int
take_lease(struct worker *w, const struct message *m, struct fail *f)
{
	const struct lease *l;

	if (is_late(w, m->lease.term))
		return 0;
	/* The batches of a step have the same size. */
	if (!w->pipeline || m->lease.batch % w->run.plan.batches != 0 ||
	    (m->frames > m->lease.call) != (w->leased > 0) ||
	    !leases_take(w->leases, m, batches_are_exhausted(w->batches)) ||
	    ((l = leases_find(w->leases, m->request)) && !has_records(w, l)))
		return fail(f, FAIL_PROTOCOL, "a malformed lease");
	return 0;
}

static int
take_residual(struct worker *w, const struct message *m, struct fail *f)
{
	if (is_late(w, m->residual.term) ||
	    leases_take_residual(w->leases, m))
		return 0;
	return fail(f, FAIL_PROTOCOL, "malformed RESIDUAL");
}

static void
take_cancel(struct worker *w, const struct message *m)
{
	leases_cancel(w->leases, m->cancel.first, m->cancel.count, m->request);
	if (m->request == 0)
		leases_send_cancelled(w->leases);
	forget_records(w);
	leases_settle(w->leases);
}

static int
take_evaluate(struct worker *w, const struct message *m, struct fail *f)
{
	if (w->evaluate)
		evaluate_drop(w->evaluate);
	if (w->session < SESSION_WELCOME)
		return 0;
	return w->evaluate ? evaluate_take(w->evaluate, m, f) :
		fail(f, FAIL_PROTOCOL, "malformed EVALUATE");
}

static int
take_index(struct worker *w, const struct message *m, struct fail *f)
{
	if (w->session < SESSION_WELCOME)
		return 0;
	if (m->index.dataset >= 64 || !(w->leased >> m->index.dataset & 1))
		return fail(f, FAIL_PROTOCOL, "a data set that the coordinator "
			    "does not have");
	index_take(w->index, m);
	return 0;
}

static int
take_refusal(const struct worker *w, const struct message *m, struct fail *f)
{
	char text[MESSAGE_BLOB + 1];

	if (w->session < SESSION_WELCOME && m->request != HELLO_REQUEST)
		return 0;	/* our message had overtaken HELLO */
	if (m->request == LOST_REQUEST) {
		*f = w->lost;
		return -1;
	}
	message_text(m, text, sizeof(text));
	return fail(f, message_status(m->refused.status), "coordinator %s: %s",
		    w->options.coordinator, text);
}

static int
receive_coordinator(struct worker *w, const struct message *m, uint64_t now,
		    struct fail *f)
{
	w->heard = now;
	switch (m->kind) {
	case MESSAGE_WELCOME:
		if (w->session < SESSION_WELCOME)
			w->session = SESSION_WELCOME;
		return 0;
	case MESSAGE_PLAN:
		return take_plan(w, m, now, f);
	case MESSAGE_LEASE:
		return take_lease(w, m, f);
	case MESSAGE_RESIDUAL:
		return take_residual(w, m, f);
	case MESSAGE_CANCEL:
		take_cancel(w, m);
		return 0;
	case MESSAGE_EVALUATE:
		return take_evaluate(w, m, f);
	case MESSAGE_RELAY:
		if (w->run.client)
			client_relay(w->run.client, m, now);
		return 0;
	case MESSAGE_INDEX:
		return take_index(w, m, f);
	case MESSAGE_PING: {
		const struct message pong = message_answer(m, MESSAGE_PONG);

		send_message(w, &pong);
		return 0;
	}
	case MESSAGE_STOP:
		w->stopped = true;
		return 0;
	case MESSAGE_REFUSED:
		return take_refusal(w, m, f);
	default:
		return 0;
	}
}

static int
check_broken(const struct worker *w, struct fail *f)
{
	if (w->violation.kind == 0)
		return 0;
	*f = w->violation;
	return -1;
}

int
worker_receive(struct worker *w, uint64_t peer, const struct message *m,
	       uint64_t now, uint64_t now_us, struct fail *f)
{
	if (peer == w->coordinator) {
		if (receive_coordinator(w, m, now, f) < 0)
			return -1;
	} else if (w->run.client && client_knows(w->run.client, peer)) {
		if (client_receive(w->run.client, peer, m, now, f) < 0)
			return -1;
	}
	send_ready(w);
	leases_settle(w->leases);
	advance(w, now, now_us);
	end_data(w);
	return check_broken(w, f);
}

enum turn { TURN_NONE, TURN_STEP, TURN_SCORE };

/*
 * Steps and batches of an evaluation take turns.  A program answers the steps
 * that it was asked for before it is asked for such a batch, and that batch
 * before it is asked for a step.
 */
static enum turn
next_turn(const struct worker *w)
{
	if (!w->pipeline || w->violation.kind)
		return TURN_NONE;
	if (evaluate_is_computing(w->evaluate))
		return evaluate_can_compute(w->evaluate) ? TURN_SCORE :
			TURN_NONE;

	const bool step = pipeline_can_compute(w->pipeline);

	if (!evaluate_can_compute(w->evaluate) || (step && w->scored))
		return step ? TURN_STEP : TURN_NONE;
	if (!pipeline_asks(w->pipeline))
		return TURN_SCORE;
	return pipeline_is_answered(w->pipeline) ? TURN_STEP : TURN_NONE;
}

bool
worker_can_compute(const struct worker *w)
{
	return next_turn(w) != TURN_NONE;
}

bool
worker_compute(struct worker *w)
{
	const enum turn turn = next_turn(w);
	struct fail why;

	if (turn == TURN_NONE)
		return false;
	w->computed = true;
	w->scored = turn == TURN_SCORE;
	if ((w->scored ?
	     evaluate_compute(w->evaluate, &why) :
	     pipeline_compute(w->pipeline, &why)) < 0)
		w->violation = why;
	return true;
}

void
worker_computed(struct worker *w, uint64_t now, uint64_t now_us)
{
	advance(w, now, now_us);
	end_data(w);
}

/* The silence of peers in a pause of this program does not count. */
static void
note_pause(struct worker *w, uint64_t now)
{
	if (pause_excuse(&w->ticked, now, w->options.lease_ms, &w->heard,
			 &w->down_since) && w->run.client)
		client_skip_pause(w->run.client, now);
}

/* Fail if the coordinator is gone for too long, or hangs. */
static int
check_coordinator(struct worker *w, uint64_t now, struct fail *f)
{
	const uint64_t most = w->options.timeout_ms;
	const uint64_t lease = w->options.lease_ms;
	const bool up = w->session != SESSION_DOWN;

	if (w->computed)
		w->heard = now;
	if (!up && now - w->down_since >= most)
		return fail(f, FAIL_PEER, "coordinator %s %s within %g s",
			    w->options.coordinator, w->run.model ?
			    "is gone and did not come back" :
			    "does not answer", (double)most / 1000);
	if (up && now - w->heard >= most && now - w->heard >= lease)
		return fail(f, FAIL_PEER, "coordinator %s hangs, last heard "
			    "%.1f s ago", w->options.coordinator,
			    (double)(now - w->heard) / 1000);
	return 0;
}

int
worker_tick(struct worker *w, uint64_t now, struct fail *f)
{
	struct message m = { .kind = MESSAGE_LOST, .request = LOST_REQUEST };
	struct fail why;
	size_t server;

	note_pause(w, now);
	if (check_broken(w, f) < 0 || check_coordinator(w, now, f) < 0)
		return -1;
	if (w->computed) {	/* messages that came meanwhile are unread */
		w->computed = false;
		return 0;
	}
	if (w->run.client)
		client_tick(w->run.client, now, w->options.lease_ms);
	if (!w->run.client || w->session < SESSION_WELCOME ||
	    now - w->lost_said < w->options.timeout_ms / 4 ||
	    client_check(w->run.client, now, w->options.timeout_ms, &server,
			 &why) == 0)
		return 0;
	/* The coordinator decides whether to wait for that server. */
	w->lost_said = now;
	w->lost = why;
	m.lost.term = w->run.plan.term;
	m.lost.server = server;
	m.blob = (struct frame){ why.text, strlen(why.text), NULL };
	send_message(w, &m);
	return 0;
}

/* ---- batches of steps ---- */

size_t
worker_want(const struct worker *w)
{
	return w->pipeline ? pipeline_want(w->pipeline) : 0;
}

uint64_t
worker_datasets(const struct worker *w)
{
	return w->pipeline ? model_reads(w->run.model,
					 pipeline_line(w->pipeline)) : 0;
}

size_t
worker_dataset(const struct worker *w)
{
	return model_reads_first(w->run.model, pipeline_line(w->pipeline));
}

const struct worker_next *
worker_next(struct worker *w)
{
	uint64_t step;
	const struct lease *l = leases_next(w->leases, &step);

	if (!l || worker_want(w) == 0)
		return NULL;
	w->wanted = (struct worker_next){ step, l->replica, l->replicas,
					  l->attempt, l->batch };
	return &w->wanted;
}

void
worker_batch(struct worker *w, struct batch *batch, uint64_t now,
	     uint64_t now_us)
{
	pipeline_put(w->pipeline, batch);
	advance(w, now, now_us);
}

bool
worker_put_back(struct worker *w, struct batch *batch)
{
	return w->pipeline && pipeline_put_back(w->pipeline, batch);
}

void
worker_exhausted(struct worker *w, uint64_t records)
{
	batches_end(w->batches, records, NULL);
	end_data(w);
}

void
worker_bad_data(struct worker *w, const struct fail *why)
{
	/* The number of records is unknown: nothing behind can be read. */
	batches_end(w->batches, WIRE_NONE, why);
	end_data(w);
}

void
worker_fail_all(struct worker *w, const struct fail *why)
{
	if (!w->failure.kind)
		w->failure = *why;
}

/* ---- data of the coordinator's ---- */

const struct record_range_format *
worker_format(const struct worker *w)
{
	return w->leased ? &w->format : NULL;
}

uint64_t
worker_leased(const struct worker *w)
{
	return w->leased;
}

bool
worker_slice(const struct worker *w, size_t k, struct lease_slice *s)
{
	uint64_t step;
	const struct lease *l = worker_want(w) > 0 ?
		leases_next(w->leases, &step) : NULL;

	if (!l || !lease_slice(l, k, s))
		return false;
	s->from += (step - l->first) * s->count;
	return true;
}

size_t
worker_batches(const struct worker *w)
{
	return w->run.plan.batches;
}

size_t
worker_blocks(const struct worker *w, size_t dataset, struct frame *frame,
	      size_t most)
{
	return leases_blocks(w->leases, dataset, frame, most);
}

void
worker_bad_block(struct worker *w, const struct fail *why)
{
	uint64_t step;
	const struct lease *l = leases_next(w->leases, &step);

	if (l)
		leases_failed(w->leases, l, leases_begin(w->leases, l), why);
	leases_settle(w->leases);
}

const struct frame *
worker_index(const struct worker *w, uint64_t *number)
{
	return index_span(w->index, number);
}

size_t
worker_index_dataset(const struct worker *w)
{
	return index_dataset(w->index);
}

void
worker_indexed(struct worker *w, const struct record_range_tally *t)
{
	index_counted(w->index, t, w->run.plan.term);
}

void
worker_index_failed(struct worker *w, const struct fail *why)
{
	index_failed(w->index, why);
}

/* ---- evaluations ---- */

const struct worker_evaluation *
worker_evaluation(const struct worker *w)
{
	return w->evaluate ? evaluate_job(w->evaluate) : NULL;
}

bool
worker_evaluation_wants(const struct worker *w)
{
	return w->evaluate && evaluate_wants(w->evaluate);
}

void
worker_evaluation_batch(struct worker *w, struct batch *batch, uint64_t now)
{
	evaluate_batch(w->evaluate, batch, now);
}

void
worker_evaluation_failed(struct worker *w, const struct fail *why)
{
	evaluate_failed(w->evaluate, why);
}

/* ---- what always holds ---- */

const char *
worker_check(const struct worker *w)
{
	const char *violation = leases_check(w->leases);

	if (!violation)
		violation = batches_check(w->batches);
	return violation || !w->pipeline || w->violation.kind ? violation :
		pipeline_check(w->pipeline);
}
