#include "role/worker.h"

#include "base/mem.h"
#include "model/compute.h"
#include "role/client.h"
#include "role/evaluation.h"
#include "wire/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEASES	256
#define HELLO_REQUEST	WIRE_NONE	/* no lease has it */
#define LOST_REQUEST	(WIRE_NONE - 1)
#define MAX_PACK	65536	/* steps of a lease */

/* Steps to run, first to end - 1; those below next have been begun. */
struct lease {
	uint64_t id, first, end, next, attempt, batch, server;
	float learning_rate;
	struct pack results;
	size_t count;			/* results that are in */
	struct metric_state scores;	/* theirs */
	bool cancelled;
};

/* One step in the making. */
struct work {
	struct compute *compute;
	struct batch batch;
	struct lease *lease;	/* NULL: nothing in the making */
	uint64_t step, began_us;
	struct result result;
};

struct worker {
	struct outbox *outbox;
	struct worker_options options;
	uint64_t coordinator;	/* peer */
	bool up, welcome, stopped, ready_said;
	uint64_t heard, down_since, lost_said;
	struct fail lost;		/* why we said LOST */
	unsigned char run[PLAN_RUN];
	uint64_t term;

	struct model_source source;
	struct model *model;
	struct plan plan;
	struct client *client;
	const struct metric *metric;
	size_t metrics;
	struct metric_state state[RESULT_METRICS];

	struct lease lease[MAX_LEASES];	/* a ring */
	size_t lease_first, leases;
	struct batch waiting;		/* for the next step */
	bool has_batch, exhausted, exhausted_said;
	uint64_t records;		/* read, when exhausted */
	struct work work[2];		/* one computes while one pulls */
	struct work *pulling;		/* NULL, or what the exchange is for */
	struct work *pushing;
	struct pack out;

	struct worker_evaluation evaluation;
	struct message evaluation_request;
	struct evaluation score;
	struct batch eval_batch;
	bool evaluating, eval_pulling;
	uint64_t evaluations, steps, examples;
	char text[128];
};

struct worker *
worker_new(const struct worker_options *o, struct outbox *outbox,
	   uint64_t now, struct fail *f)
{
	struct worker *w = mem_alloc(1, sizeof(*w));

	w->outbox = outbox;
	w->options = *o;
	w->heard = w->down_since = now;
	if (outbox_dial(outbox, o->coordinator, &w->coordinator, f) == 0)
		return w;
	free(w);
	return NULL;
}

static void
say(struct worker *w, const struct message *m)
{
	outbox_send(w->outbox, w->coordinator, m);
}

static void
end_evaluation(struct worker *w)
{
	for (size_t i = 0; i < w->evaluation.count; i++)
		free(w->evaluation.file[i]);
	free(w->evaluation.file);
	w->evaluation = (struct worker_evaluation){ 0 };
	w->evaluating = w->eval_pulling = false;
}

static void
forget_plan(struct worker *w)
{
	end_evaluation(w);
	client_free(w->client);
	w->client = NULL;
	for (size_t i = 0; i < 2; i++) {
		compute_free(w->work[i].compute);
		batch_release(&w->work[i].batch);
		w->work[i] = (struct work){ 0 };
	}
	if (w->model)
		evaluation_close(&w->score);
	batch_release(&w->waiting);
	batch_release(&w->eval_batch);
	for (size_t i = 0; i < RESULT_METRICS; i++)
		metric_release(&w->state[i]);
	plan_release(&w->plan);
	model_free(w->model);
	w->model = NULL;
	model_source_release(&w->source);
}

void
worker_free(struct worker *w)
{
	const struct message bye = { .kind = MESSAGE_BYE };

	if (!w)
		return;
	if (w->up)
		say(w, &bye);
	forget_plan(w);
	for (size_t i = 0; i < MAX_LEASES; i++) {
		pack_release(&w->lease[i].results);
		metric_release(&w->lease[i].scores);
	}
	pack_release(&w->out);
	free(w);
}

bool
worker_stopped(const struct worker *w)
{
	return w->stopped;
}

const struct model *
worker_model(const struct worker *w)
{
	return w->model;
}

uint64_t
worker_seed(const struct worker *w)
{
	return w->plan.seed;
}

const char *
worker_state(struct worker *w)
{
	snprintf(w->text, sizeof(w->text), "%llu steps, %llu examples",
		 (unsigned long long)w->steps,
		 (unsigned long long)w->examples);
	return w->text;
}

/* ---- leases ---- */

static struct lease *
lease_at(struct worker *w, size_t i)
{
	return &w->lease[(w->lease_first + i) % MAX_LEASES];
}

static int
take_lease(struct worker *w, const struct message *m, struct fail *f)
{
	struct lease *l = lease_at(w, w->leases);

	if (!w->welcome || m->lease.term != w->plan.term)
		return 0;	/* of the connection or term before this one */
	if (!w->client || w->leases == MAX_LEASES || m->lease.count == 0 ||
	    m->lease.count > MAX_PACK || m->lease.batch == 0 ||
	    m->lease.first > UINT64_MAX - m->lease.count)
		return fail(f, FAIL_PROTOCOL, "a lease that cannot be");
	l->id = m->request;
	l->first = l->next = m->lease.first;
	l->end = m->lease.first + m->lease.count;
	l->attempt = m->lease.attempt;
	l->batch = m->lease.batch;
	l->learning_rate = message_float(m->lease.rate);
	l->server = m->lease.server;
	l->count = 0;
	l->cancelled = w->exhausted;	/* it will come back */
	pack_reset(&l->results);
	metric_reset(&l->scores);
	w->leases++;
	return 0;
}

/* The first lease with a step that has not been begun, or NULL. */
static struct lease *
next_lease(const struct worker *w)
{
	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = lease_at((struct worker *)(uintptr_t)w, i);

		if (l->next < l->end && !l->cancelled)
			return l;
	}
	return NULL;
}

static bool
in_the_making(const struct worker *w, const struct lease *l)
{
	return w->work[0].lease == l || w->work[1].lease == l;
}

/* Leases that are over leave the ring from its front. */
static void
drop_leases(struct worker *w)
{
	while (w->leases > 0) {
		struct lease *l = lease_at(w, 0);

		if (in_the_making(w, l) || (l->next < l->end && !l->cancelled))
			return;
		w->lease_first = (w->lease_first + 1) % MAX_LEASES;
		w->leases--;
	}
}

static void
say_done(struct worker *w, struct lease *l)
{
	struct message m = { .kind = MESSAGE_DONE, .request = l->id };

	m.done.term = w->plan.term;
	m.done.count = l->count;
	m.frame[m.frames++] = (struct frame){ l->results.data,
					      l->results.size, NULL };
	if (l->scores.count > 0) {
		m.frame[m.frames++] = (struct frame){
			l->scores.score, l->scores.count * sizeof(float),
			NULL };
		m.frame[m.frames++] = (struct frame){ l->scores.positive,
						      l->scores.count, NULL };
	}
	say(w, &m);
	l->count = 0;
	pack_reset(&l->results);
	metric_reset(&l->scores);
}

/*
 * Give up what has not been computed of leases with one of these steps.  What
 * is done is reported.
 */
static void
cancel(struct worker *w, uint64_t first, uint64_t count)
{
	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = lease_at(w, i);

		if (l->end <= first || (l->first > first &&
					l->first - first >= count))
			continue;
		l->cancelled = true;
		if (l->count > 0 && !in_the_making(w, l))
			say_done(w, l);
	}
	drop_leases(w);
}

static void
say_failed(struct worker *w, struct lease *l, uint64_t step,
	   const struct fail *why)
{
	struct message m = { .kind = MESSAGE_FAILED, .request = l->id };

	if (l->count > 0)
		say_done(w, l);	/* what came before it has been done */
	m.failed.term = w->plan.term;
	m.failed.step = step;
	m.failed.status = why->kind;
	m.blob = (struct frame){ why->text, strlen(why->text), NULL };
	say(w, &m);
	l->cancelled = true;	/* what is left of it is the coordinator's */
}

/* ---- the coordinator and the plan ---- */

static void
hello(struct worker *w)
{
	struct message m = { .kind = MESSAGE_HELLO,
			     .request = HELLO_REQUEST };

	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_WORKER;
	m.hello.index = w->options.index;
	m.hello.life = w->options.life;
	say(w, &m);
}

void
worker_up(struct worker *w, uint64_t peer, uint64_t now)
{
	if (peer != w->coordinator) {
		if (w->client && client_knows(w->client, peer))
			client_up(w->client, peer, now);
		return;
	}
	w->up = true;
	w->welcome = w->ready_said = w->exhausted_said = false;
	w->heard = now;
	hello(w);
	/* The coordinator takes back what it had given us: so do we. */
	cancel(w, 0, UINT64_MAX);
	end_evaluation(w);
}

void
worker_down(struct worker *w, uint64_t peer, uint64_t now)
{
	if (peer != w->coordinator) {
		if (w->client && client_knows(w->client, peer))
			client_down(w->client, peer, now);
		return;
	}
	w->up = w->welcome = w->ready_said = false;
	w->down_since = now;
}

/* Of an earlier term: nobody waits for it any more. */
static void
forget_leases(struct worker *w)
{
	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = lease_at(w, i);

		l->count = 0;
		pack_reset(&l->results);
		metric_reset(&l->scores);
	}
	w->leases = 0;
	w->work[0].lease = w->work[1].lease = NULL;
	w->pushing = w->pulling = NULL;
	end_evaluation(w);
}

/* The plan that we have, of a newer term and maybe with other endpoints. */
static int
take_term(struct worker *w, const struct message *m, uint64_t now,
	  struct fail *f)
{
	const struct message old = message_refuse(m, FAIL_AGAIN, "this term "
						  "is over, another began");

	if (m->plan.term <= w->plan.term) {
		if (m->plan.term < w->plan.term)
			say(w, &old);
		return 0;
	}
	if (plan_renew(&w->plan, w->model, m->plan.term, &m->frame[1], f) < 0)
		return -1;
	forget_leases(w);
	w->ready_said = w->exhausted_said = false;
	return client_renew(w->client, now, f);
}

static int
take_plan(struct worker *w, const struct message *m, uint64_t now,
	  struct fail *f)
{
	if (m->blob.size != PLAN_RUN)
		return fail(f, FAIL_PROTOCOL, "a plan of no run");
	if (w->model && m->plan.plan == w->plan.number &&
	    memcmp(m->blob.data, w->plan.run, PLAN_RUN) == 0)
		return take_term(w, m, now, f);
	if (w->model)
		return fail(f, FAIL_AGAIN, "the coordinator has begun "
			    "another run");
	if (plan_read_model(&w->source, m->frame[0].data, m->frame[0].size,
			    f) < 0)
		return -1;
	w->model = model_parse(&w->source, f);
	if (!w->model)
		return -1;
	w->metric = model_metrics(w->model, &w->metrics);
	evaluation_open(&w->score, w->model);
	if (plan_read(&w->plan, w->model, m->frame[1].data,
		      m->frame[1].size, f) < 0)
		return -1;
	w->plan.number = m->plan.plan;
	w->plan.seed = m->plan.seed;
	w->plan.term = m->plan.term;
	memcpy(w->plan.run, m->blob.data, PLAN_RUN);

	size_t inputs;
	const struct input *input = model_inputs(w->model, &inputs);

	batch_begin(&w->waiting, input, inputs, model_label(w->model));
	batch_begin(&w->eval_batch, input, inputs, model_label(w->model));
	for (size_t i = 0; i < 2; i++) {
		w->work[i].compute = compute_new(w->model);
		batch_begin(&w->work[i].batch, input, inputs,
			    model_label(w->model));
	}
	w->client = client_new(&w->plan, w->model, ROLE_WORKER,
			       w->options.life, w->outbox, now, f);
	return w->client ? 0 : -1;
}

static void
say_ready(struct worker *w)
{
	const struct message m = { .kind = MESSAGE_READY };

	if (w->ready_said || !w->welcome || !w->client ||
	    !client_ready(w->client))
		return;
	w->ready_said = true;
	say(w, &m);
}

/* ---- steps ---- */

size_t
worker_want(const struct worker *w)
{
	const struct lease *l = next_lease(w);

	return l && !w->has_batch && !w->exhausted ? l->batch : 0;
}

/* A step that has been computed goes into its lease's results. */
static void
note_result(struct worker *w, struct work *work, uint64_t now_us)
{
	const struct exchanged *e = client_exchanged(w->client);
	struct lease *l = work->lease;
	struct result *r = &work->result;

	r->step = work->step;
	r->attempt = l->attempt;
	r->staleness = e->staleness;
	r->voided = e->voided + e->refused > 0;
	r->mixed = e->applied > 0 && e->repeated > 0;
	r->microseconds = now_us - work->began_us;
	if (r->voided)
		r->scores = 0;
	result_write(&l->results, r);
	if (!r->voided)
		for (size_t i = 0; i < w->metrics; i++)
			if (w->state[i].count > 0) {
				metric_merge(&w->metric[i], &l->scores,
					     &w->state[i]);
				break;
			}
	l->count++;
	w->steps++;
	w->examples += r->examples;
	work->lease = NULL;
	if (work->step + 1 == l->end || l->cancelled)
		say_done(w, l);
}

/* Put the waiting batch to the next step. */
static struct work *
begin_work(struct worker *w, uint64_t now_us)
{
	struct lease *l = next_lease(w);
	struct work *work = w->work[0].lease ? &w->work[1] : &w->work[0];
	struct batch batch;

	if (!l || !w->has_batch || work->lease)
		return NULL;
	batch = work->batch;
	work->batch = w->waiting;
	w->waiting = batch;
	w->has_batch = false;
	work->lease = l;
	work->step = l->next++;
	work->began_us = now_us;
	compute_begin(work->compute, &work->batch);
	return work;
}

static int
run_step(struct worker *w, struct work *work, struct fail *f)
{
	struct result *r = &work->result;

	for (size_t i = 0; i < w->metrics; i++)
		metric_reset(&w->state[i]);
	compute_forward(work->compute, true,
			w->plan.seed ^ (work->step + 1));
	*r = (struct result){ .examples = work->batch.examples,
			      .loss = compute_loss(work->compute) };
	compute_metrics(work->compute, w->state);
	result_metrics(r, w->metric, w->metrics, w->state);
	compute_backward(work->compute);
	if (compute_check(work->compute, f) < 0)
		return -1;
	compute_clip(work->compute);
	return 0;
}

/* Begin the exchange that pushes one work and pulls for another. */
static void
exchange(struct worker *w, struct work *push, struct work *pull, uint64_t now)
{
	struct exchange x = { .cut = WIRE_NONE, .server = WIRE_NONE };

	if (push) {
		x.push = push->compute;
		x.step = push->step;
		x.examples = push->batch.examples;
		x.learning_rate = push->lease->learning_rate;
		x.server = push->lease->server;
	}
	x.pull = pull ? pull->compute : NULL;
	w->pushing = push;
	w->pulling = pull;
	client_exchange(w->client, &x, now);
}

/* Once what was begun has ended, the rest goes back to the coordinator. */
static void
say_exhausted(struct worker *w)
{
	struct message m = { .kind = MESSAGE_EXHAUSTED };

	if (!w->exhausted || w->exhausted_said || !w->ready_said ||
	    w->work[0].lease || w->work[1].lease)
		return;
	w->exhausted_said = true;
	m.exhausted.term = w->plan.term;
	m.exhausted.records = w->records;
	say(w, &m);
}

/* Go on as far as there are leases, batches and answers. */
static void
advance(struct worker *w, uint64_t now, uint64_t now_us)
{
	struct work *ready, *next;
	struct fail why;

	if (!w->client || !client_idle(w->client) || w->eval_pulling)
		return;
	if (w->pushing)
		note_result(w, w->pushing, now_us);
	w->pushing = NULL;
	ready = w->pulling;
	w->pulling = NULL;
	if (ready && ready->lease->cancelled) {
		if (ready->lease->count > 0)
			say_done(w, ready->lease);
		ready->lease = NULL;
		ready = NULL;
	}
	if (ready && run_step(w, ready, &why) < 0) {
		say_failed(w, ready->lease, ready->step, &why);
		ready->lease = NULL;
		ready = NULL;
	}
	drop_leases(w);
	next = begin_work(w, now_us);
	if (ready || next)
		exchange(w, ready, next, now);
	else
		say_exhausted(w);
}

void
worker_batch(struct worker *w, struct batch *batch, uint64_t now,
	     uint64_t now_us)
{
	const struct batch old = w->waiting;

	w->waiting = *batch;
	*batch = old;
	w->has_batch = true;
	advance(w, now, now_us);
}

void
worker_exhausted(struct worker *w, uint64_t records)
{
	w->exhausted = true;
	w->records = records;
	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = lease_at(w, i);

		l->end = l->next;
		if (l->count > 0 && !in_the_making(w, l))
			say_done(w, l);
	}
	drop_leases(w);
	say_exhausted(w);
}

void
worker_bad_data(struct worker *w, const struct fail *why)
{
	struct lease *l = next_lease(w);

	if (l)
		say_failed(w, l, l->next++, why);
	worker_exhausted(w, WIRE_NONE);	/* nothing behind it can be read */
}

/* ---- evaluation ---- */

const struct worker_evaluation *
worker_evaluation(const struct worker *w)
{
	return w->evaluating ? &w->evaluation : NULL;
}

bool
worker_evaluation_wants(const struct worker *w)
{
	/* A step that was begun before comes to its end first. */
	return w->evaluating && !w->eval_pulling && !w->pushing &&
		!w->pulling && client_idle(w->client);
}

static int
take_evaluate(struct worker *w, const struct message *m, struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const uint32_t count = unpack_array(&u);

	end_evaluation(w);
	if (!w->welcome)
		return 0;
	if (!w->client || u.bad || count > unpack_left(&u) + 1 ||
	    m->evaluate.shards == 0 || m->evaluate.batch == 0)
		return fail(f, FAIL_PROTOCOL, "malformed EVALUATE");
	w->evaluation.file = mem_alloc(count, sizeof(char *));
	for (uint32_t i = 0; i < count && !u.bad; i++) {
		size_t size;
		const char *name = unpack_blob(&u, &size);

		w->evaluation.file[i] = mem_text_n(u.bad ? "" : name, size);
		w->evaluation.count++;
	}
	w->evaluation.shard = m->evaluate.shard;
	w->evaluation.shards = m->evaluate.shards;
	w->evaluation.batch = m->evaluate.batch;
	w->evaluation.number = ++w->evaluations;
	w->evaluation_request = *m;
	w->evaluating = true;
	evaluation_reset(&w->score);
	return unpack_ok(&u) ? 0 : fail(f, FAIL_PROTOCOL,
					"malformed EVALUATE");
}

static void
say_evaluated(struct worker *w)
{
	struct message m = message_answer(&w->evaluation_request,
					  MESSAGE_EVALUATED);
	const struct metric_state *scores;
	struct result r;

	evaluation_result(&w->score, &r, &scores);
	pack_reset(&w->out);
	result_write(&w->out, &r);
	m.done.term = w->plan.term;
	m.done.count = 1;
	m.frame[m.frames++] = (struct frame){ w->out.data, w->out.size,
					      NULL };
	if (scores) {
		m.frame[m.frames++] = (struct frame){
			scores->score, scores->count * sizeof(float), NULL };
		m.frame[m.frames++] = (struct frame){ scores->positive,
						      scores->count, NULL };
	}
	say(w, &m);
	end_evaluation(w);
}

void
worker_evaluation_batch(struct worker *w, struct batch *batch, uint64_t now)
{
	struct exchange x = { .cut = WIRE_NONE, .server = WIRE_NONE };
	struct batch old = w->eval_batch;

	if (!w->evaluating)
		return;
	if (!batch) {
		say_evaluated(w);
		return;
	}
	w->eval_batch = *batch;
	*batch = old;
	evaluation_begin(&w->score, &w->eval_batch);
	x.pull = w->score.compute;
	w->eval_pulling = true;
	client_exchange(w->client, &x, now);
}

void
worker_evaluation_failed(struct worker *w, const struct fail *why)
{
	const struct message m = message_refuse(&w->evaluation_request,
						why->kind, why->text);

	say(w, &m);
	end_evaluation(w);
}

/* ---- messages ---- */

static int
hear_coordinator(struct worker *w, const struct message *m, uint64_t now,
		 struct fail *f)
{
	char text[MESSAGE_BLOB + 1];

	w->heard = now;
	switch (m->kind) {
	case MESSAGE_WELCOME:
		w->welcome = true;
		return 0;
	case MESSAGE_PLAN:
		return take_plan(w, m, now, f);
	case MESSAGE_LEASE:
		return take_lease(w, m, f);
	case MESSAGE_CANCEL:
		cancel(w, m->cancel.first, m->cancel.count);
		return 0;
	case MESSAGE_EVALUATE:
		return take_evaluate(w, m, f);
	case MESSAGE_PING: {
		const struct message pong = message_answer(m, MESSAGE_PONG);

		say(w, &pong);
		return 0;
	}
	case MESSAGE_STOP:
		w->stopped = true;
		return 0;
	case MESSAGE_REFUSED:
		if (!w->welcome && m->request != HELLO_REQUEST)
			return 0;	/* it overtook HELLO */
		if (m->request == LOST_REQUEST) {
			*f = w->lost;
			return -1;
		}
		message_text(m, text, sizeof(text));
		return fail(f, message_status(m->refused.status),
			    "coordinator %s: %s", w->options.coordinator,
			    text);
	default:
		return 0;
	}
}

int
worker_hear(struct worker *w, uint64_t peer, const struct message *m,
	    uint64_t now, uint64_t now_us, struct fail *f)
{
	if (peer == w->coordinator) {
		if (hear_coordinator(w, m, now, f) < 0)
			return -1;
	} else if (w->client && client_knows(w->client, peer)) {
		if (client_hear(w->client, peer, m, now, f) < 0)
			return -1;
		if (w->eval_pulling && client_idle(w->client)) {
			evaluation_end(&w->score, true);
			w->eval_pulling = false;
		}
	}
	say_ready(w);
	drop_leases(w);
	advance(w, now, now_us);
	return 0;
}

int
worker_tick(struct worker *w, uint64_t now, struct fail *f)
{
	struct message m = { .kind = MESSAGE_LOST, .request = LOST_REQUEST };
	struct fail why;
	size_t server;

	if (!w->up && now - w->down_since >= w->options.timeout_ms)
		return fail(f, FAIL_PEER, "coordinator %s %s within %g s",
			    w->options.coordinator, w->model ?
			    "is gone and did not come back" :
			    "does not answer",
			    (double)w->options.timeout_ms / 1000);
	if (!w->client || !w->welcome || now - w->lost_said <
	    w->options.timeout_ms / 4 ||
	    client_check(w->client, now, w->options.timeout_ms, &server,
			 &why) == 0)
		return 0;
	/* Whether to wait for it is the coordinator's to say. */
	w->lost_said = now;
	w->lost = why;
	m.lost.term = w->plan.term;
	m.lost.server = server;
	m.blob = (struct frame){ why.text, strlen(why.text), NULL };
	say(w, &m);
	return 0;
}
