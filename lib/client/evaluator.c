#include "client/evaluator.h"

#include "base/mem.h"
#include "client/client.h"

#include <stdlib.h>
#include <string.h>

struct evaluator {
	struct outbox *outbox;
	struct evaluator_options options;
	uint64_t coordinator;		/* peer */
	bool up, asked;
	uint64_t since;			/* what we wait for, until the cut */
	uint64_t heard;			/* the coordinator */
	struct model_source source;
	struct model *model;
	struct plan plan;
	struct client *client;
	uint64_t cut, step;		/* WIRE_NONE: not there yet */
	struct evaluation evaluation;
};

struct evaluator *
evaluator_new(const struct evaluator_options *o, struct outbox *outbox,
	      uint64_t now, struct fail *f)
{
	struct evaluator *e = mem_alloc(1, sizeof(*e));

	e->outbox = outbox;
	e->options = *o;
	e->since = now;
	e->cut = WIRE_NONE;
	if (outbox_dial(outbox, o->coordinator, &e->coordinator, f) == 0)
		return e;
	free(e);
	return NULL;
}

static void
say(struct evaluator *e, const struct message *m)
{
	outbox_send(e->outbox, e->coordinator, m);
}

void
evaluator_free(struct evaluator *e)
{
	const struct message bye = { .kind = MESSAGE_BYE };

	if (!e)
		return;
	client_free(e->client);
	if (e->up)
		say(e, &bye);
	if (e->model)
		evaluation_close(&e->evaluation);
	plan_release(&e->plan);
	model_free(e->model);
	model_source_release(&e->source);
	free(e);
}

const struct model *
evaluator_model(const struct evaluator *e)
{
	return e->model;
}

bool
evaluator_wants(const struct evaluator *e)
{
	return e->cut != WIRE_NONE && !e->evaluation.pulling;
}

const struct evaluation *
evaluator_scored(const struct evaluator *e, uint64_t *step)
{
	*step = e->step;
	return &e->evaluation;
}

static int
score_pulled(struct evaluator *e, struct fail *f)
{
	return !evaluation_is_pulled(&e->evaluation, e->client) ? 0 :
		evaluation_pulled(&e->evaluation, !e->options.predict, f);
}

int
evaluator_score(struct evaluator *e, struct batch *batch, uint64_t now,
		struct fail *f)
{
	if (evaluation_pull(&e->evaluation, batch, e->client, e->cut, now,
			    f) < 0)
		return -1;
	return score_pulled(e, f);
}

/* ---- who is there ---- */

void
evaluator_up(struct evaluator *e, uint64_t peer, uint64_t now)
{
	struct message m = { .kind = MESSAGE_HELLO };

	if (peer != e->coordinator) {
		if (e->client && client_knows(e->client, peer))
			client_up(e->client, peer, now);
		return;
	}
	e->up = true;
	e->since = e->heard = now;
	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_EVALUATOR;
	m.hello.index = e->options.index;
	m.hello.life = e->options.life;
	say(e, &m);
}

void
evaluator_down(struct evaluator *e, uint64_t peer, uint64_t now)
{
	if (peer != e->coordinator) {
		if (e->client && client_knows(e->client, peer))
			client_down(e->client, peer, now);
		return;
	}
	e->up = false;
	e->asked = e->cut != WIRE_NONE;
	e->since = now;
}

/* ---- the plan and the cut ---- */

/* A server was lost, or the coordinator: so are the cuts that were held. */
static int
take_term(struct evaluator *e, const struct message *m, uint64_t now,
	  struct fail *f)
{
	if (m->plan.term <= e->plan.term)
		return 0;
	if (plan_renew(&e->plan, e->model, m->plan.term, &m->frame[1], f) < 0)
		return -1;
	if (e->cut != WIRE_NONE)
		return fail(f, FAIL_AGAIN, "a member of the run was lost, and "
			    "with it step %llu as it was being scored",
			    (unsigned long long)e->step);
	e->asked = false;
	e->since = now;
	return client_renew(e->client, now, f);
}

static int
take_plan(struct evaluator *e, const struct message *m, uint64_t now,
	  struct fail *f)
{
	if (m->blob.size != PLAN_RUN)
		return fail(f, FAIL_PROTOCOL, "a plan of no run");
	if (e->model && m->plan.plan == e->plan.number &&
	    memcmp(m->blob.data, e->plan.run, PLAN_RUN) == 0)
		return take_term(e, m, now, f);
	if (e->model)
		return fail(f, FAIL_AGAIN, "the coordinator has begun "
			    "another run");
	if (plan_read_model(&e->source, m->frame[0].data, m->frame[0].size,
			    f) < 0)
		return -1;
	e->model = model_parse(&e->source, f);
	if (!e->model)
		return -1;
	evaluation_open(&e->evaluation, e->model, e->options.externals);
	if (externals_begin(e->options.externals, e->model, f) < 0 ||
	    plan_read(&e->plan, e->model, m->frame[1].data,
		      m->frame[1].size, f) < 0)
		return -1;
	e->plan.number = m->plan.plan;
	e->plan.seed = m->plan.seed;
	e->plan.term = m->plan.term;
	memcpy(e->plan.run, m->blob.data, PLAN_RUN);
	e->since = now;
	e->client = client_new(&e->plan, e->model, ROLE_EVALUATOR,
			       e->options.life, e->outbox, now, f);
	return e->client ? 0 : -1;
}

static void
ask_cut(struct evaluator *e, uint64_t now)
{
	struct message m = { .kind = MESSAGE_CUT };

	if (e->asked || !e->up || !e->client || !client_ready(e->client))
		return;
	e->asked = true;
	e->since = now;
	m.cut.run = plan_run(&e->plan);
	m.cut.term = e->plan.term;
	m.cut.cut = WIRE_NONE;
	say(e, &m);
}

static int
hear_coordinator(struct evaluator *e, const struct message *m, uint64_t now,
		 struct fail *f)
{
	char text[MESSAGE_BLOB + 1];

	e->heard = now;
	switch (m->kind) {
	case MESSAGE_PLAN:
		return take_plan(e, m, now, f);
	case MESSAGE_CUT:
		if (!e->client)
			return fail(f, FAIL_PROTOCOL, "coordinator %s: a cut "
				    "before a plan", e->options.coordinator);
		e->since = now;		/* there is none yet, or ours */
		e->cut = m->cut.cut;
		e->step = m->cut.step;
		return 0;
	case MESSAGE_PING: {
		const struct message pong = message_answer(m, MESSAGE_PONG);

		say(e, &pong);
		return 0;
	}
	case MESSAGE_STOP:
		return fail(f, FAIL_PEER, "coordinator %s ended the run "
			    "before the evaluation was over",
			    e->options.coordinator);
	case MESSAGE_REFUSED:
		message_text(m, text, sizeof(text));
		return fail(f, message_status(m->refused.status),
			    "coordinator %s: %s", e->options.coordinator,
			    text);
	default:
		return 0;
	}
}

int
evaluator_hear(struct evaluator *e, uint64_t peer, const struct message *m,
	       uint64_t now, struct fail *f)
{
	if (peer == e->coordinator) {
		if (hear_coordinator(e, m, now, f) < 0)
			return -1;
	} else if (e->client && client_knows(e->client, peer)) {
		if (client_hear(e->client, peer, m, now, f) < 0 ||
		    score_pulled(e, f) < 0)
			return -1;
	}
	ask_cut(e, now);
	return 0;
}

/* With the cut in hand, the servers are all that we need. */
int
evaluator_tick(struct evaluator *e, uint64_t now, struct fail *f)
{
	const char *name = e->options.coordinator;
	const double seconds = (double)e->options.timeout_ms / 1000;
	size_t server;

	if (e->client && client_check(e->client, now, e->options.timeout_ms,
				      &server, f) < 0)
		return -1;
	if (e->cut != WIRE_NONE || now - e->since < e->options.timeout_ms)
		return 0;
	if (!e->up)
		return fail(f, FAIL_PEER, "coordinator %s %s within %g s",
			    name, e->model ? "has not come back" :
			    "does not answer", seconds);
	if (now - e->heard >= e->options.timeout_ms / 2)
		return fail(f, FAIL_PEER, "coordinator %s hangs, last heard "
			    "%.1f s ago", name,
			    (double)(now - e->heard) / 1000);
	if (!e->client)
		return fail(f, FAIL_PEER, "coordinator %s has begun no run "
			    "within %g s", name, seconds);
	return fail(f, FAIL_PEER, "coordinator %s has frozen no step within "
		    "%g s", name, seconds);
}
