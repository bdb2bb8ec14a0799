#include "role/worker.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/compute.h"
#include "role/block.h"
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
#define WORKS		3	/* one pulled for, one computed, one pushed */

/* Steps to run, first to end - 1; those below next have been begun. */
struct lease {
	uint64_t id, first, end, next, attempt, batch, pass, server;
	float learning_rate;
	struct pack results;
	size_t count;			/* results that are in */
	struct metric_state scores;	/* theirs */
	bool cancelled;
	uint64_t slot, slots;	/* of a round; slots 0: of none */
	struct text block, after;	/* frames of the coordinator's data */
	uint64_t from;			/* its first step's, in the block */
};

/* What has become of a step, or is becoming of it. */
enum stage { STAGE_NONE, STAGE_BEGUN, STAGE_PULLING, STAGE_PULLED,
	     STAGE_COMPUTED, STAGE_PUSHING };

/*
 * One step in the making.  An early one has no lease yet: more steps like
 * those before it were announced, so it pulls what it will need meanwhile.
 */
struct work {
	struct compute *compute;
	struct batch batch;
	enum stage stage;
	struct lease *lease;
	uint64_t turn;		/* the lowest was begun first; none: 0 */
	uint64_t size;		/* examples that were asked for */
	uint64_t pass;		/* for leases of this pass its pull is good */
	uint64_t *version;	/* of each part, as it was pulled */
	uint64_t step, began_us;
	struct metric_state state[RESULT_METRICS];
	struct result result;
	struct fail why;	/* it cannot be computed, if it has a kind */
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

	struct lease lease[MAX_LEASES];	/* a ring */
	size_t lease_first, leases;
	struct batch waiting;		/* for the next step */
	uint64_t waiting_size;		/* that was asked for */
	bool has_batch, unwanted;	/* unwanted: of another size */
	bool over;			/* nothing more can be read, */
	struct fail bad;		/* because of this, if it has a kind */
	bool exhausted, exhausted_said;
	bool cancelled;		/* OK is to be said when none such is made */
	bool more;			/* said by the last lease, like: */
	uint64_t more_size, more_pass;
	uint64_t records;		/* read, when exhausted */
	struct work work[WORKS];	/* one at most pulls, is computed and
					   not pushed, is pushed */
	uint64_t turns;
	bool computed;		/* since the last tick */
	uint64_t waiting_for;	/* the lease that has_batch is for */
	struct pack out;

	struct worker_evaluation evaluation;
	struct message evaluation_request;
	struct evaluation score;
	struct batch eval_batch;
	bool evaluating, eval_pulling;
	struct span_format format;	/* of the coordinator's data, */
	struct worker_next wanted;
	bool leased_data;		/* if there are any */
	struct message index_request;
	struct text index;		/* the span's frame */
	bool indexing;
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
work_release(struct work *work)
{
	compute_free(work->compute);
	batch_release(&work->batch);
	free(work->version);
	for (size_t i = 0; i < RESULT_METRICS; i++)
		metric_release(&work->state[i]);
	*work = (struct work){ 0 };
}

static void
forget_plan(struct worker *w)
{
	end_evaluation(w);
	client_free(w->client);
	w->client = NULL;
	for (size_t i = 0; i < WORKS; i++)
		work_release(&w->work[i]);
	if (w->model)
		evaluation_close(&w->score);
	batch_release(&w->waiting);
	batch_release(&w->eval_batch);
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
		text_release(&w->lease[i].block);
		text_release(&w->lease[i].after);
	}
	text_release(&w->index);
	free(w->format.name);
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

static void
keep_frame(struct text *to, const struct message *m, size_t i)
{
	text_reset(to);
	if (i < m->frames)
		text_add_bytes(to, m->frame[i].data, m->frame[i].size);
}

/*
 * The first lease with a step that has not been begun, or NULL.  Of slots the
 * one of the lowest step: the rounds behind it wait for it.
 */
static struct lease *
next_lease(const struct worker *w)
{
	struct lease *first = NULL;

	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = lease_at((struct worker *)(uintptr_t)w, i);

		if (l->next == l->end || l->cancelled)
			continue;
		if (!first || (l->slots > 0 && l->next < first->next))
			first = l;
	}
	return first;
}

static bool
in_the_making(const struct worker *w, const struct lease *l)
{
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].lease == l)
			return true;
	return false;
}

/* The work at this stage, of several the one begun first; or NULL. */
static struct work *
at_stage(const struct worker *w, enum stage stage)
{
	const struct work *first = NULL;

	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].stage == stage &&
		    (!first || w->work[i].turn < first->turn))
			first = &w->work[i];
	return (struct work *)(uintptr_t)first;
}

/*
 * Steps that are pulled for, or have been, and wait for their leases: how
 * many, and which one was begun first and last.
 */
struct early {
	size_t count;
	struct work *first, *last;
};

static struct early
early(const struct worker *w)
{
	struct early e = { 0 };

	for (size_t i = 0; i < WORKS; i++) {
		const struct work *work = &w->work[i];

		if (work->stage == STAGE_NONE || work->lease)
			continue;
		e.count++;
		if (!e.first || work->turn < e.first->turn)
			e.first = (struct work *)(uintptr_t)work;
		if (!e.last || work->turn > e.last->turn)
			e.last = (struct work *)(uintptr_t)work;
	}
	return e;
}

static void
drop_work(struct work *work)
{
	work->lease = NULL;
	work->stage = STAGE_NONE;
	work->turn = 0;		/* so that no more are used than must be */
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

static int
take_lease(struct worker *w, const struct message *m, struct fail *f)
{
	struct lease *l = lease_at(w, w->leases);

	if (!w->welcome || m->lease.term != w->plan.term)
		return 0;	/* of the connection or term before this one */
	if (!w->client || w->leases == MAX_LEASES || m->lease.count == 0 ||
	    m->lease.count > MAX_PACK || m->lease.batch == 0 ||
	    m->lease.first > UINT64_MAX - m->lease.count ||
	    (m->frames > 0) != w->leased_data)
		return fail(f, FAIL_PROTOCOL, "a lease that cannot be");
	l->id = m->request;
	l->first = l->next = m->lease.first;
	l->end = m->lease.first + m->lease.count;
	l->attempt = m->lease.attempt;
	l->batch = m->lease.batch;
	l->learning_rate = message_float(m->lease.rate);
	l->pass = w->more_pass = m->lease.pass;
	w->more = m->lease.more != 0;
	w->more_size = l->batch;
	l->slot = m->lease.slot;
	l->slots = m->lease.slots;
	l->server = m->lease.server;
	l->count = 0;
	l->cancelled = w->exhausted;	/* it will come back */
	l->from = m->lease.from;
	keep_frame(&l->block, m, 0);
	keep_frame(&l->after, m, 1);
	pack_reset(&l->results);
	metric_reset(&l->scores);
	w->leases++;
	if (w->exhausted && l->slots > 0)
		say_done(w, l);		/* a round waits for it */
	return 0;
}

/* It is over, if nothing of it is in the making: a slot is given back. */
static void
end_lease(struct worker *w, struct lease *l)
{
	if (!in_the_making(w, l) && (l->count > 0 || l->slots > 0))
		say_done(w, l);
}

/* The coordinator's data were read for a lease that is no more. */
static void
forget_records(struct worker *w)
{
	if (!w->leased_data || !w->has_batch)
		return;
	for (size_t i = 0; i < w->leases; i++)
		if (lease_at(w, i)->id == w->waiting_for &&
		    !lease_at(w, i)->cancelled)
			return;
	w->has_batch = w->unwanted = false;
}

/*
 * Give up what has not been computed of leases with one of these steps, or of
 * that one lease (id not 0).  What is done is reported.
 */
static void
cancel(struct worker *w, uint64_t first, uint64_t count, uint64_t id)
{
	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = lease_at(w, i);

		if (l->end <= first || (l->first > first &&
					l->first - first >= count) ||
		    (id != 0 && l->id != id) || l->cancelled)
			continue;
		l->cancelled = true;
		end_lease(w, l);
	}
	forget_records(w);
	drop_leases(w);
}

/* Those that were begun have come to an end, and what that was has been said:
   now the coordinator knows which steps nobody will push any more. */
static void
say_cancelled(struct worker *w)
{
	const struct message ok = { .kind = MESSAGE_OK };

	if (!w->cancelled)
		return;
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].lease && w->work[i].lease->cancelled)
			return;
	w->cancelled = false;
	say(w, &ok);
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
	cancel(w, 0, UINT64_MAX, 0);
	w->more = w->cancelled = false;
	for (size_t i = 0; i < WORKS; i++)
		w->work[i].pass = WIRE_NONE;
	end_evaluation(w);
	w->indexing = false;
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

/* Either we have inputs, or the coordinator has. */
static int
take_format(struct worker *w, const struct message *m, struct fail *f)
{
	w->leased_data = m->frames > 2;
	if (w->leased_data && w->options.inputs)
		return fail(f, FAIL_USAGE, "inputs are named here, but the "
			    "coordinator %s has data of its own for all "
			    "workers (ps-coord -d): name them there or here",
			    w->options.coordinator);
	if (!w->leased_data && !w->options.inputs)
		return fail(f, FAIL_USAGE, "no input: name files, - or "
			    "pipe:COMMAND here, or data for all workers at "
			    "the coordinator (ps-coord -d)");
	return w->leased_data ? block_read_format(&w->format,
						  m->frame[2].data,
						  m->frame[2].size, f) : 0;
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
	forget_records(w);
	for (size_t i = 0; i < WORKS; i++)
		drop_work(&w->work[i]);
	w->waiting_for = 0;
	w->more = w->indexing = w->cancelled = false;
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
	if (take_format(w, m, f) < 0)
		return -1;
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
	for (size_t i = 0; i < WORKS; i++) {
		w->work[i].compute = compute_new(w->model);
		w->work[i].version = mem_alloc(w->plan.parts,
					       sizeof(uint64_t));
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

/* Examples for the step that is so many behind the next one; 0: no step. */
static uint64_t
size_of(const struct worker *w, uint64_t behind)
{
	for (size_t i = 0; i < w->leases; i++) {
		const struct lease *l =
			lease_at((struct worker *)(uintptr_t)w, i);

		if (l->cancelled)
			continue;
		if (l->end - l->next > behind)
			return l->batch;
		behind -= l->end - l->next;
	}
	return w->more ? w->more_size : 0;
}

size_t
worker_want(const struct worker *w)
{
	const struct lease *l = next_lease(w);
	const size_t before = early(w).count;

	if (w->has_batch || w->over)
		return 0;
	return l && before == 0 ? l->batch : size_of(w, before);
}

/* What was read for an early step is for one of another size. */
static bool
misread(const struct worker *w)
{
	const struct lease *l = next_lease(w);
	const struct work *work = early(w).first;

	return work && l && l->batch != work->size;
}

/* What was read last goes back first, but not while values come for it. */
static void
unload(struct worker *w)
{
	struct work *work = early(w).last;
	const struct batch empty = w->waiting;

	if (work->stage == STAGE_PULLING)
		return;
	w->waiting = work->batch;
	work->batch = empty;
	w->has_batch = w->unwanted = true;
	drop_work(work);
}

bool
worker_put_back(struct worker *w, struct batch *batch)
{
	const struct batch old = *batch;

	if (!w->unwanted)
		return false;
	*batch = w->waiting;
	w->waiting = old;
	w->has_batch = w->unwanted = w->over = false;
	w->bad.kind = 0;
	if (misread(w))
		unload(w);
	return true;
}

const struct worker_next *
worker_next(struct worker *w)
{
	const struct lease *l = next_lease(w);

	if (!l || worker_want(w) == 0)
		return NULL;
	w->wanted = (struct worker_next){ l->next, l->slot, l->slots,
					  l->attempt, l->batch };
	return &w->wanted;
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
			if (work->state[i].count > 0) {
				metric_merge(&w->metric[i], &l->scores,
					     &work->state[i]);
				break;
			}
	l->count++;
	w->steps++;
	w->examples += r->examples;
	drop_work(work);
	if (l->cancelled || (l->next == l->end && !in_the_making(w, l)))
		say_done(w, l);
}

/* Is a batch that was read for it of no use to any other? */
static bool
reads_its_own(const struct worker *w, const struct lease *l)
{
	return l->slots > 0 || w->leased_data;
}

/* Put the waiting batch to the next step of a lease, or to an early one. */
static struct work *
begin_work(struct worker *w, struct lease *l, uint64_t now_us)
{
	struct work *work = at_stage(w, STAGE_NONE);
	struct batch batch;

	if (!w->has_batch || w->unwanted || !work || (!l && !w->more) ||
	    (l && reads_its_own(w, l) && w->waiting_for != l->id))
		return NULL;
	if (w->waiting_size != (l ? l->batch : w->more_size)) {
		w->unwanted = true;
		return NULL;
	}
	batch = work->batch;
	work->batch = w->waiting;
	work->size = w->waiting_size;
	w->waiting = batch;
	w->has_batch = false;
	work->stage = STAGE_BEGUN;
	work->turn = ++w->turns;
	work->lease = l;
	work->pass = l ? l->pass : w->more_pass;
	if (l)
		work->step = l->next++;
	work->began_us = now_us;
	compute_begin(work->compute, &work->batch);
	return work;
}

/* Works whose leases were given up, but for what is under way. */
static void
put_down(struct worker *w)
{
	for (size_t i = 0; i < WORKS; i++) {
		struct work *work = &w->work[i];
		struct lease *l = work->lease;

		if (!l || !l->cancelled || work->stage == STAGE_PULLING ||
		    work->stage == STAGE_PUSHING)
			continue;
		drop_work(work);
		end_lease(w, l);
	}
}

/* Whose the waiting batch is: a slot that has not been begun, or NULL. */
static struct lease *
batch_lease(struct worker *w)
{
	for (size_t i = 0; w->has_batch && i < w->leases; i++) {
		struct lease *l = lease_at(w, i);

		if (l->id == w->waiting_for && l->next < l->end &&
		    !l->cancelled)
			return l;
	}
	return NULL;
}

/*
 * What waits for the round before its own gives way to a slot of that one,
 * as when another worker died, or is late: or they would wait for each other
 * for ever.
 */
static void
make_way(struct worker *w, uint64_t now_us)
{
	struct lease *next = next_lease(w), *has = batch_lease(w);
	struct work *waits = at_stage(w, STAGE_PULLING);
	const bool aside = at_stage(w, STAGE_BEGUN) != NULL;

	if (next && reads_its_own(w, next) && w->has_batch && !has) {
		w->has_batch = !w->leased_data && !w->options.assigned;
		w->waiting_for = next->id;
	} else if (has && next && has->slots > 0 && has != next && !aside) {
		begin_work(w, has, now_us);
	}
	if (!waits || !waits->lease || waits->lease->slots == 0 ||
	    at_stage(w, STAGE_PUSHING))
		return;
	if (!waits->lease->cancelled &&
	    (!next || next->next >= waits->step || !w->has_batch ||
	     w->waiting_for != next->id || at_stage(w, STAGE_BEGUN)))
		return;
	waits->stage = STAGE_BEGUN;
	client_give_up(w->client);
}

/*
 * Is there to be a pull, while what has been pulled is not computed?  One for
 * a later round would wait for it, and it for the exchange.
 */
static bool
may_pull(const struct worker *w)
{
	const struct lease *next = next_lease(w);
	const struct work *begun = at_stage(w, STAGE_BEGUN);
	const uint64_t step = begun ? begun->step : next ? next->next : 0;
	size_t pulled = 0;

	for (size_t i = 0; i < WORKS; i++) {
		const struct work *work = &w->work[i];

		if (work->stage != STAGE_PULLED)
			continue;
		if (work->lease && work->lease->slots > 0)
			return step <= work->step;
		pulled++;
	}
	return pulled <= w->options.prefetch;
}

/* What to pull for now. */
static struct work *
next_work(struct worker *w, uint64_t now_us)
{
	struct lease *next = next_lease(w);
	struct work *work = at_stage(w, STAGE_BEGUN);

	if (!may_pull(w))
		return NULL;
	if (work && (!next || next->next > work->step || !w->has_batch ||
		     w->waiting_for != next->id))
		return work;
	return misread(w) ? NULL : begin_work(w, next, now_us);
}

static void
run_step(const struct worker *w, struct work *work)
{
	struct result *r = &work->result;

	for (size_t i = 0; i < w->metrics; i++)
		metric_reset(&work->state[i]);
	compute_forward(work->compute, true,
			w->plan.seed ^ (work->step + 1) ^
			work->lease->slot << 40);
	*r = (struct result){ .examples = work->batch.examples,
			      .loss = compute_loss(work->compute) };
	compute_metrics(work->compute, work->state);
	result_metrics(r, w->metric, w->metrics, work->state);
	compute_backward(work->compute);
	work->why.kind = 0;
	if (compute_check(work->compute, &work->why) == 0)
		compute_clip(work->compute);
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
		x.slot = push->lease->slot;
		x.attempt = push->lease->slots > 0 ? push->lease->attempt : 0;
		x.server = push->lease->server;
		x.version = push->version;
		push->stage = STAGE_PUSHING;
	}
	if (pull) {
		x.pull = pull->compute;
		x.pulled = pull->version;
		pull->stage = STAGE_PULLING;
		if (pull->lease)
			pull->pass = pull->lease->pass;
		if (pull->lease && pull->lease->slots > 0)
			x.after = pull->step;
	}
	client_exchange(w->client, &x, now);
}

/* Once what was begun has ended, the rest goes back to the coordinator. */
static void
say_exhausted(struct worker *w)
{
	struct message m = { .kind = MESSAGE_EXHAUSTED };

	if (!w->exhausted || w->exhausted_said || !w->ready_said)
		return;
	/* What waits for a round may wait for others to do our part of it. */
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].stage != STAGE_NONE &&
		    (!w->work[i].lease || w->work[i].lease->slots == 0))
			return;
	w->exhausted_said = true;
	m.exhausted.term = w->plan.term;
	m.exhausted.records = w->records;
	say(w, &m);
}

/* The exchange, if there was one, has come to its end. */
static void
take_answers(struct worker *w, uint64_t now_us)
{
	struct work *pushed = at_stage(w, STAGE_PUSHING);
	struct work *pulled = at_stage(w, STAGE_PULLING);

	if (pushed)
		note_result(w, pushed, now_us);
	if (pulled)
		pulled->stage = STAGE_PULLED;
}

/*
 * Early steps come to their leases, in the order in which they were read.  Is
 * this one for the batch that was read?  If not, it goes back, and what was
 * read behind it goes back first.  What was pulled before a barrier is pulled
 * again.
 */
static void
adopt(struct worker *w, uint64_t now_us)
{
	struct work *work;
	struct lease *l;

	while ((l = next_lease(w)) && (work = early(w).first)) {
		if (work->stage == STAGE_PULLING)
			return;
		if (misread(w)) {
			if (w->has_batch)
				w->unwanted = true;
			else
				unload(w);
			return;
		}
		work->lease = l;
		work->step = l->next++;
		work->began_us = now_us;
		if (work->pass != l->pass)
			work->stage = STAGE_BEGUN;
	}
}

/* Push what has been computed, pull for what comes. */
static void
next_exchange(struct worker *w, uint64_t now, uint64_t now_us)
{
	struct work *push = at_stage(w, STAGE_COMPUTED), *pull;

	if (!client_idle(w->client))
		return;
	if (push && push->why.kind) {
		say_failed(w, push->lease, push->step, &push->why);
		drop_work(push);
		put_down(w);
		push = NULL;
	}
	/* A round waits for this push: nothing is to hold up its answer. */
	pull = push && push->lease->slots > 0 ? NULL : next_work(w, now_us);
	if (push || pull)
		exchange(w, push, pull, now);
}

/* Compute what has been pulled for; false: there is nothing to compute. */
static bool
compute_step(struct worker *w)
{
	struct work *work = at_stage(w, STAGE_PULLED);

	if (!work || !work->lease || at_stage(w, STAGE_COMPUTED))
		return false;
	run_step(w, work);
	work->stage = STAGE_COMPUTED;
	w->computed = true;
	return true;
}

/*
 * Go on as far as there are leases, batches and answers.  What can be sent is
 * sent before anything is computed: it is on its way meanwhile.
 */
static void
advance(struct worker *w, uint64_t now, uint64_t now_us)
{
	if (!w->client || w->eval_pulling)
		return;
	make_way(w, now_us);
	if (client_idle(w->client))
		take_answers(w, now_us);
	adopt(w, now_us);
	put_down(w);
	do
		next_exchange(w, now, now_us);
	while (compute_step(w));
	drop_leases(w);
	say_cancelled(w);
	say_exhausted(w);
}

void
worker_batch(struct worker *w, struct batch *batch, uint64_t now,
	     uint64_t now_us)
{
	const struct batch old = w->waiting;

	w->waiting_size = worker_want(w);
	w->waiting = *batch;
	*batch = old;
	w->has_batch = true;
	w->waiting_for = next_lease(w) ? next_lease(w)->id : 0;
	advance(w, now, now_us);
}

/*
 * The data have ended.  A step that was read for before still has its turn;
 * data that cannot be read are the error of the step behind it.
 */
static void
end_data(struct worker *w)
{
	struct lease *l = next_lease(w);

	if (!w->over || w->exhausted || w->has_batch || early(w).count > 0 ||
	    (w->bad.kind && !l))
		return;
	if (w->bad.kind)
		say_failed(w, l, l->next++, &w->bad);
	w->exhausted = true;
	for (size_t i = 0; i < w->leases; i++) {
		l = lease_at(w, i);
		l->end = l->next;
		if (!l->cancelled)
			end_lease(w, l);
	}
	drop_leases(w);
	say_exhausted(w);
}

void
worker_exhausted(struct worker *w, uint64_t records)
{
	w->over = true;
	w->records = records;
	end_data(w);
}

void
worker_bad_data(struct worker *w, const struct fail *why)
{
	w->bad = *why;
	worker_exhausted(w, WIRE_NONE);	/* nothing behind it can be read */
}

/* ---- data of the coordinator's ---- */

const struct span_format *
worker_format(const struct worker *w)
{
	return w->leased_data ? &w->format : NULL;
}

bool
worker_slice(const struct worker *w, struct worker_slice *s)
{
	const struct lease *l = worker_want(w) > 0 ? next_lease(w) : NULL;

	if (!l)
		return false;
	s->block = (struct frame){ l->block.data, l->block.size, NULL };
	s->from = l->from + (l->next - l->first) * l->batch;
	s->count = l->batch;
	return true;
}

/* Another block than those that are there already? */
static size_t
add_block(struct frame *frame, size_t count, const struct text *block)
{
	for (size_t i = 0; i < count; i++)
		if (frame[i].size == block->size &&
		    memcmp(frame[i].data, block->data, block->size) == 0)
			return count;
	frame[count] = (struct frame){ block->data, block->size, NULL };
	return count + 1;
}

size_t
worker_blocks(const struct worker *w, struct frame *frame, size_t most)
{
	const struct lease *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < w->leases && count < most; i++) {
		const struct lease *l =
			lease_at((struct worker *)(uintptr_t)w, i);

		if (l->next == l->end || l->cancelled)
			continue;
		count = add_block(frame, count, &l->block);
		last = l;
	}
	if (last && last->after.size > 0 && count < most)
		count = add_block(frame, count, &last->after);
	return count;
}

void
worker_bad_block(struct worker *w, const struct fail *why)
{
	struct lease *l = next_lease(w);

	if (l)
		say_failed(w, l, l->next++, why);
	drop_leases(w);
}

static void
take_index(struct worker *w, const struct message *m)
{
	w->index_request = *m;
	keep_frame(&w->index, m, 0);
	w->index_request.frame[0] = (struct frame){ w->index.data,
						    w->index.size, NULL };
	w->indexing = w->welcome;
}

const struct frame *
worker_index(const struct worker *w, uint64_t *number)
{
	*number = w->index_request.request;
	return w->indexing ? &w->index_request.frame[0] : NULL;
}

void
worker_indexed(struct worker *w, const struct span_tally *t)
{
	struct message m = message_answer(&w->index_request, MESSAGE_INDEXED);

	pack_reset(&w->out);
	pack_array(&w->out, t->places);
	for (size_t i = 0; i < t->places; i++)
		pack_uint(&w->out, t->place[i]);
	m.indexed.term = w->plan.term;
	m.indexed.records = t->whole ? WIRE_NONE : t->records;
	m.frames = 1;
	m.frame[0] = (struct frame){ w->out.data, w->out.size, NULL };
	w->indexing = false;
	say(w, &m);
}

void
worker_index_failed(struct worker *w, const struct fail *why)
{
	const struct message m = message_refuse(&w->index_request, why->kind,
						why->text);

	w->indexing = false;
	say(w, &m);
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
	if (!w->evaluating || w->eval_pulling || !client_idle(w->client))
		return false;
	/* A step that was begun before comes to its end first. */
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].stage > STAGE_BEGUN && w->work[i].lease)
			return false;
	return true;
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
		cancel(w, m->cancel.first, m->cancel.count, m->request);
		w->cancelled = w->cancelled || m->request == 0;
		say_cancelled(w);
		return 0;
	case MESSAGE_EVALUATE:
		return take_evaluate(w, m, f);
	case MESSAGE_INDEX:
		take_index(w, m);
		return 0;
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
	end_data(w);
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
	if (w->computed) {	/* what came meanwhile is still to be heard */
		w->computed = false;
		return 0;
	}
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
