#include "worker/worker.h"

#include "base/mem.h"
#include "worker/worker_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELLO_REQUEST	WIRE_NONE	/* no lease has it */
#define PAUSE_MS	1000		/* of ours, or half a lease */
#define LOST_REQUEST	(WIRE_NONE - 1)

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

void
worker_say(struct worker *w, const struct message *m)
{
	outbox_send(w->outbox, w->coordinator, m);
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
	worker_end_evaluation(w);
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
	if (w->up && !w->broken.kind)
		worker_say(w, &bye);
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

void
worker_breathe(struct worker *w)
{
	const struct message pong = { .kind = MESSAGE_PONG,
				      .request = HELLO_REQUEST };

	if (w->up && w->welcome)
		worker_say(w, &pong);
}

bool
worker_stopped(const struct worker *w)
{
	return w->stopped;
}

bool
worker_has_run(const struct worker *w)
{
	return w->up && w->model;
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
	worker_say(w, &m);
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
	worker_cancel(w, 0, UINT64_MAX, 0);
	w->more = w->cancelled = false;
	for (size_t i = 0; i < WORKS; i++)
		w->work[i].pass = WIRE_NONE;
	worker_end_evaluation(w);
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

/* The coordinator may have data of its own. */
static int
take_format(struct worker *w, const struct message *m, struct fail *f)
{
	w->leased_data = m->frames > 2;
	return w->leased_data ? block_read_format(&w->format,
						  m->frame[2].data,
						  m->frame[2].size, f) : 0;
}

/* Of an earlier term: nobody waits for it any more. */
static void
forget_leases(struct worker *w)
{
	for (size_t i = 0; i < w->leases; i++) {
		struct lease *l = worker_lease_at(w, i);

		l->count = 0;
		pack_reset(&l->results);
		metric_reset(&l->scores);
	}
	w->leases = 0;
	worker_forget_records(w);
	for (size_t i = 0; i < WORKS; i++)
		work_drop(&w->work[i]);
	w->waiting_for = 0;
	w->more = w->indexing = w->cancelled = false;
	worker_end_evaluation(w);
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
			worker_say(w, &old);
		return 0;
	}
	if (plan_renew(&w->plan, w->model, m->plan.term, &m->frame[1], f) < 0)
		return -1;
	w->plan.codec = codec_find(m->plan.codec);
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
	if (!codec_find(m->plan.codec))
		return fail(f, FAIL_PROTOCOL, "a plan of codec %llu",
			    (unsigned long long)m->plan.codec);
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
	externals_begin(w->options.externals, w->model, &w->unfit);
	evaluation_open(&w->score, w->model, w->options.externals);
	if (plan_read(&w->plan, w->model, m->frame[1].data,
		      m->frame[1].size, f) < 0)
		return -1;
	w->plan.number = m->plan.plan;
	w->plan.seed = m->plan.seed;
	w->plan.term = m->plan.term;
	w->plan.codec = codec_find(m->plan.codec);
	memcpy(w->plan.run, m->blob.data, PLAN_RUN);

	size_t inputs;
	const struct input *input = model_inputs(w->model, &inputs);

	batch_begin(&w->waiting, input, inputs, model_label(w->model));
	batch_begin(&w->eval_batch, input, inputs, model_label(w->model));
	for (size_t i = 0; i < WORKS; i++) {
		w->work[i].compute = compute_new(w->model,
						 w->options.externals);
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
	worker_say(w, &m);
}

/* ---- what happens ---- */

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
		return worker_take_lease(w, m, f);
	case MESSAGE_CANCEL:
		worker_cancel(w, m->cancel.first, m->cancel.count, m->request);
		w->cancelled = w->cancelled || m->request == 0;
		worker_say_cancelled(w);
		return 0;
	case MESSAGE_EVALUATE:
		return worker_take_evaluate(w, m, f);
	case MESSAGE_INDEX:
		worker_take_index(w, m);
		return 0;
	case MESSAGE_PING: {
		const struct message pong = message_answer(m, MESSAGE_PONG);

		worker_say(w, &pong);
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

static int
check_broken(const struct worker *w, struct fail *f)
{
	if (w->broken.kind == 0)
		return 0;
	*f = w->broken;
	return -1;
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
	}
	say_ready(w);
	worker_drop_leases(w);
	worker_advance(w, now, now_us);
	worker_end_data(w);
	return check_broken(w, f);
}

bool
worker_can_compute(const struct worker *w)
{
	return w->broken.kind == 0 &&
		(worker_can_score(w) || step_can_compute(w));
}

bool
worker_compute(struct worker *w)
{
	if (!worker_can_compute(w))
		return false;
	if (worker_can_score(w))
		worker_score(w);
	else
		step_compute(w);
	return true;
}

void
worker_computed(struct worker *w, uint64_t now, uint64_t now_us)
{
	worker_advance(w, now, now_us);
	worker_end_data(w);
}

/* Who was to be heard while we did not listen is excused. */
static void
note_pause(struct worker *w, uint64_t now)
{
	const uint64_t pause = now - w->ticked;

	w->ticked = now;
	if (pause < PAUSE_MS || pause < w->options.lease_ms / 2)
		return;
	w->heard = now;
	if (w->client)
		client_excuse(w->client, now);
}

/* Is the coordinator gone, or does it hang? */
static int
check_coordinator(struct worker *w, uint64_t now, struct fail *f)
{
	const uint64_t most = w->options.timeout_ms;
	const uint64_t lease = w->options.lease_ms;

	if (w->computed)
		w->heard = now;
	if (!w->up && now - w->down_since >= most)
		return fail(f, FAIL_PEER, "coordinator %s %s within %g s",
			    w->options.coordinator, w->model ?
			    "is gone and did not come back" :
			    "does not answer", (double)most / 1000);
	if (w->up && now - w->heard >= most && now - w->heard >= lease)
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
	worker_say(w, &m);
	return 0;
}
