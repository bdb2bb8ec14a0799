#include "worker/evaluate.h"

#include "base/fiber.h"
#include "base/mem.h"
#include "client/evaluation.h"

#include <stdlib.h>

/*
 * The state of the evaluation, and of its batch.
 *
 *	NONE --evaluate_take()--> READING --evaluate_batch()--> WAITING
 *	WAITING --begin_pull()--> PULLING --end_pull()--> PULLED
 *	PULLED --evaluate_compute()--> COMPUTING	(a program has still to
 *							answer)
 *	PULLED, COMPUTING --evaluate_compute()--> READING
 *	READING --evaluate_batch(), the last--> NONE
 *	all --evaluate_failed(), evaluate_drop()--> NONE
 */
enum state { STATE_NONE, STATE_READING, STATE_WAITING, STATE_PULLING,
	     STATE_PULLED, STATE_COMPUTING };

struct evaluate {
	struct evaluate_options o;
	enum state state;
	struct worker_evaluation job;	/* its number outlives it */
	bool late;		/* the client still pulls for a dropped batch */
	bool programs;		/* that compute some of the model */
	struct fiber *fiber;	/* with programs, it computes the batch; it may
				   still do so when that was dropped */
	struct message request;
	struct evaluation score;
	struct batch batch;
	struct pack out;
};

struct evaluate *
evaluate_new(const struct evaluate_options *o)
{
	struct evaluate *e = mem_alloc(1, sizeof(*e));
	size_t inputs;
	const struct input *input = model_inputs(o->model, &inputs);

	e->o = *o;
	e->programs = model_has_programs(o->model);
	e->fiber = fiber_new();
	evaluation_open(&e->score, o->model, o->externals);
	batch_begin(&e->batch, input, inputs, model_label(o->model));
	return e;
}

void
evaluate_free(struct evaluate *e)
{
	if (!e)
		return;
	evaluate_drop(e);
	fiber_free(e->fiber);
	evaluation_close(&e->score);
	batch_release(&e->batch);
	pack_release(&e->out);
	free(e);
}

static void
send_message(const struct evaluate *e, const struct message *m)
{
	outbox_send(e->o.outbox, e->o.peer, m);
}

void
evaluate_drop(struct evaluate *e)
{
	for (size_t i = 0; i < e->job.count; i++)
		free(e->job.file[i]);
	free(e->job.file);
	e->job = (struct worker_evaluation){ .number = e->job.number };
	e->late = e->late || e->state == STATE_PULLING;
	e->state = STATE_NONE;
}

int
evaluate_take(struct evaluate *e, const struct message *m, struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const uint32_t count = unpack_array(&u);
	struct worker_evaluation *job = &e->job;

	evaluate_drop(e);
	if (u.bad || count > unpack_left(&u) + 1 || m->evaluate.shards == 0 ||
	    m->evaluate.batch == 0)
		return fail(f, FAIL_PROTOCOL, "malformed EVALUATE");
	job->file = mem_alloc(count, sizeof(char *));
	for (uint32_t i = 0; i < count && !u.bad; i++) {
		size_t size;
		const char *name = unpack_blob(&u, &size);

		job->file[i] = mem_text_n(u.bad ? "" : name, size);
		job->count++;
	}
	job->shard = m->evaluate.shard;
	job->shards = m->evaluate.shards;
	job->batch = m->evaluate.batch;
	job->number++;
	e->request = *m;
	e->state = STATE_READING;
	evaluation_reset(&e->score);
	return unpack_ok(&u) ? 0 : fail(f, FAIL_PROTOCOL,
					"malformed EVALUATE");
}

const struct worker_evaluation *
evaluate_job(const struct evaluate *e)
{
	return e->state == STATE_NONE ? NULL : &e->job;
}

bool
evaluate_wants(const struct evaluate *e)
{
	return e->state == STATE_READING && !e->late &&
		!fiber_is_busy(e->fiber);
}

/* ---- results ---- */

static void
send_evaluated(struct evaluate *e)
{
	struct message m = message_answer(&e->request, MESSAGE_EVALUATED);
	const struct metric_state *scores;
	struct result r;

	evaluation_result(&e->score, &r, &scores);
	pack_reset(&e->out);
	result_write(&e->out, &r);
	m.done.term = e->o.plan->term;
	m.done.count = 1;
	m.frame[m.frames++] = (struct frame){ e->out.data, e->out.size,
					      NULL };
	/* A frame cannot hold more scores.  The result has their number, which
	   says why they are missing. */
	if (scores && scores->count <= RESULT_SCORES) {
		m.frame[m.frames++] = (struct frame){
			scores->score, scores->count * sizeof(float), NULL };
		m.frame[m.frames++] = (struct frame){ scores->positive,
						      scores->count, NULL };
	}
	send_message(e, &m);
	evaluate_drop(e);
}

void
evaluate_failed(struct evaluate *e, const struct fail *why)
{
	const struct message m = message_refuse(&e->request, why->kind,
						why->text);

	send_message(e, &m);
	evaluate_drop(e);
}

void
evaluate_batch(struct evaluate *e, struct batch *batch, uint64_t now)
{
	const struct batch old = e->batch;

	if (e->state == STATE_NONE)
		return;
	if (!batch) {
		send_evaluated(e);
		return;
	}
	if (e->o.failure->kind) {
		evaluate_failed(e, e->o.failure);
		return;
	}
	e->batch = *batch;
	*batch = old;
	e->state = STATE_WAITING;
	evaluate_pull(e, now);
}

/* ---- its values ---- */

static void
begin_pull(struct evaluate *e, uint64_t now)
{
	struct fail why;

	evaluation_begin(&e->score, &e->batch);
	if (client_pull(e->o.client, e->score.compute, e->request.evaluate.cut,
			now, &why) < 0)
		evaluate_failed(e, &why);
	else
		e->state = STATE_PULLING;
}

/* If the cut is gone, the coordinator knows it or will know it: FAIL_AGAIN. */
static void
end_pull(struct evaluate *e)
{
	struct fail why;

	e->state = STATE_PULLED;
	if (!client_cut_is_gone(e->o.client))
		return;
	fail(&why, FAIL_AGAIN, "the cut is no longer held");
	evaluate_failed(e, &why);
}

void
evaluate_pull(struct evaluate *e, uint64_t now)
{
	if (!client_idle(e->o.client))
		return;
	e->late = false;
	if (e->state == STATE_WAITING)
		begin_pull(e, now);
	if (e->state == STATE_PULLING && client_idle(e->o.client))
		end_pull(e);
}

bool
evaluate_is_computing(const struct evaluate *e)
{
	return fiber_is_busy(e->fiber);
}

bool
evaluate_can_compute(const struct evaluate *e)
{
	return fiber_is_busy(e->fiber) ? fiber_can_go_on(e->fiber) :
		e->state == STATE_PULLED;
}

static void
compute(void *score)
{
	evaluation_compute(score, true);
}

/* Compute the batch, or go on with it where it waited for a program.  False: it
   waits. */
static bool
run(struct evaluate *e)
{
	if (!e->programs) {
		compute(&e->score);
		return true;
	}
	if (!fiber_is_busy(e->fiber))
		return fiber_call(e->fiber, compute, &e->score);
	if (e->state != STATE_COMPUTING)
		fiber_give_up(e->fiber);
	return fiber_go_on(e->fiber);
}

/* The failure of a batch that was dropped; NULL: none that matters. */
static const struct fail *
dropped_failure(const struct evaluate *e)
{
	const struct fail *why = compute_failure(e->score.compute);

	return why && why->kind != FAIL_DATA && why->kind != FAIL_AGAIN ?
		why : NULL;
}

int
evaluate_compute(struct evaluate *e, struct fail *f)
{
	const bool dropped = evaluate_is_computing(e) &&
		e->state != STATE_COMPUTING;
	struct fail why;

	if (!run(e)) {
		if (!dropped)
			e->state = STATE_COMPUTING;
		return 0;
	}
	if (dropped) {
		if (!dropped_failure(e))
			return 0;
		*f = *dropped_failure(e);
		return -1;
	}
	e->state = STATE_READING;
	if (evaluation_add(&e->score, true, &why) == 0)
		return 0;
	if (why.kind != FAIL_DATA) {
		*f = why;
		return -1;
	}
	evaluate_failed(e, &why);
	return 0;
}
