/*
 * The worker's evaluations: batches of files that the coordinator names are
 * scored with values of their own pulls, between steps.
 */
#include "worker/worker_inside.h"

#include "base/mem.h"

#include <stdlib.h>

void
worker_end_evaluation(struct worker *w)
{
	for (size_t i = 0; i < w->evaluation.count; i++)
		free(w->evaluation.file[i]);
	free(w->evaluation.file);
	w->evaluation = (struct worker_evaluation){ 0 };
	w->evaluating = w->score.pulling = false;
}

const struct worker_evaluation *
worker_evaluation(const struct worker *w)
{
	return w->evaluating ? &w->evaluation : NULL;
}

bool
worker_evaluation_wants(const struct worker *w)
{
	if (!w->evaluating || w->score.pulling || !client_idle(w->client))
		return false;
	/* A step that was begun before comes to its end first. */
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].stage > STAGE_BEGUN && w->work[i].lease)
			return false;
	return true;
}

int
worker_take_evaluate(struct worker *w, const struct message *m, struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const uint32_t count = unpack_array(&u);

	worker_end_evaluation(w);
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
	/* More than a frame holds: how many there were says why. */
	if (scores && scores->count <= RESULT_SCORES) {
		m.frame[m.frames++] = (struct frame){
			scores->score, scores->count * sizeof(float), NULL };
		m.frame[m.frames++] = (struct frame){ scores->positive,
						      scores->count, NULL };
	}
	worker_say(w, &m);
	worker_end_evaluation(w);
}

void
worker_evaluation_failed(struct worker *w, const struct fail *why)
{
	const struct message m = message_refuse(&w->evaluation_request,
						why->kind, why->text);

	worker_say(w, &m);
	worker_end_evaluation(w);
}

bool
worker_can_score(const struct worker *w)
{
	return w->score.pulling && client_idle(w->client);
}

void
worker_score(struct worker *w)
{
	struct fail why;

	if (evaluation_pulled(&w->score, w->client, true, &why) == 0)
		return;
	if (why.kind == FAIL_DATA)
		worker_evaluation_failed(w, &why);
	else
		w->broken = why;
}

void
worker_evaluation_batch(struct worker *w, struct batch *batch, uint64_t now)
{
	struct batch old = w->eval_batch;
	struct fail why;

	if (!w->evaluating)
		return;
	if (!batch) {
		say_evaluated(w);
		return;
	}
	if (w->unfit.kind) {
		worker_evaluation_failed(w, &w->unfit);
		return;
	}
	w->eval_batch = *batch;
	*batch = old;
	if (evaluation_pull(&w->score, &w->eval_batch, w->client, WIRE_NONE,
			    now, &why) < 0)
		worker_evaluation_failed(w, &why);
}
