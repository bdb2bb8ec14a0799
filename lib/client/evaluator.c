#include "client/evaluator.h"

#include "base/mem.h"
#include "base/pause.h"
#include "client/run.h"

#include <stdlib.h>
#include <string.h>

struct evaluator {
	struct outbox *outbox;
	struct evaluator_options options;
	uint64_t coordinator;		/* peer */
	bool up, asked;
	uint64_t since;			/* when the wait began for what comes
					   next, until there is a cut */
	uint64_t heard;			/* the coordinator, the last time */
	uint64_t ticked;
	struct run run;
	uint64_t cut, step;		/* WIRE_NONE: not there yet */
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
send_message(struct evaluator *e, const struct message *m)
{
	outbox_send(e->outbox, e->coordinator, m);
}

void
evaluator_free(struct evaluator *e)
{
	const struct message bye = { .kind = MESSAGE_BYE };

	if (!e)
		return;
	if (e->up)
		send_message(e, &bye);
	run_release(&e->run);
	free(e);
}

const struct model *
evaluator_model(const struct evaluator *e)
{
	return e->run.model;
}

bool
evaluator_has_cut(const struct evaluator *e, uint64_t *step)
{
	*step = e->step;
	return e->cut != WIRE_NONE;
}

int
evaluator_pull(struct evaluator *e, struct compute *compute, uint64_t now,
	       struct fail *f)
{
	return client_pull(e->run.client, compute, e->cut, now, f);
}

bool
evaluator_is_idle(const struct evaluator *e)
{
	return e->run.client && client_idle(e->run.client);
}

/* ---- who is there ---- */

void
evaluator_up(struct evaluator *e, uint64_t peer, uint64_t now)
{
	const struct message m = message_hello(ROLE_EVALUATOR,
					       e->options.index,
					       e->options.life, 0);

	if (peer != e->coordinator) {
		if (e->run.client && client_knows(e->run.client, peer))
			client_up(e->run.client, peer, now);
		return;
	}
	e->up = true;
	e->since = e->heard = now;
	send_message(e, &m);
}

void
evaluator_down(struct evaluator *e, uint64_t peer, uint64_t now)
{
	if (peer != e->coordinator) {
		if (e->run.client && client_knows(e->run.client, peer))
			client_down(e->run.client, peer, now);
		return;
	}
	e->up = false;
	e->asked = e->cut != WIRE_NONE;
	e->since = now;
}

/* ---- the plan and the cut ---- */

/* A newer term means that a server or the coordinator was lost, and with it the
   cut. */
static int
renew_run(struct evaluator *e, uint64_t now, struct fail *f)
{
	if (e->cut != WIRE_NONE)
		return fail(f, FAIL_AGAIN, "the run lost a program, and with "
			    "it the values of step %llu that were being scored",
			    (unsigned long long)e->step);
	e->asked = false;
	e->since = now;
	return client_renew(e->run.client, now, f);
}

static int
take_plan(struct evaluator *e, const struct message *m, uint64_t now,
	  struct fail *f)
{
	switch (run_take_plan(&e->run, m, f)) {
	case RUN_BEGUN:
		e->since = now;
		if (externals_begin(e->options.externals, e->run.model,
				    f) < 0)
			return -1;
		return run_dial(&e->run, ROLE_EVALUATOR, e->options.life,
				e->outbox, now, f);
	case RUN_RENEWED:
		return renew_run(e, now, f);
	case RUN_KNOWN:
	case RUN_OLDER:
		return 0;
	default:
		return -1;
	}
}

static void
ask_cut(struct evaluator *e, uint64_t now)
{
	struct message m = { .kind = MESSAGE_CUT };

	if (e->asked || !e->up || !e->run.client ||
	    !client_ready(e->run.client))
		return;
	e->asked = true;
	e->since = now;
	m.cut.run = plan_run(&e->run.plan);
	m.cut.term = e->run.plan.term;
	m.cut.cut = WIRE_NONE;
	send_message(e, &m);
}

static int
receive_coordinator(struct evaluator *e, const struct message *m, uint64_t now,
		    struct fail *f)
{
	char text[MESSAGE_BLOB + 1];

	e->heard = now;
	switch (m->kind) {
	case MESSAGE_PLAN:
		return take_plan(e, m, now, f);
	case MESSAGE_CUT:
		if (!e->run.client)
			return fail(f, FAIL_PROTOCOL, "coordinator %s: a cut "
				    "before a plan", e->options.coordinator);
		e->since = now;		/* WIRE_NONE: none yet; else ours */
		e->cut = m->cut.cut;
		e->step = m->cut.step;
		return 0;
	case MESSAGE_PING: {
		const struct message pong = message_answer(m, MESSAGE_PONG);

		send_message(e, &pong);
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
evaluator_receive(struct evaluator *e, uint64_t peer, const struct message *m,
		  uint64_t now, struct fail *f)
{
	if (peer == e->coordinator) {
		if (receive_coordinator(e, m, now, f) < 0)
			return -1;
	} else if (e->run.client && client_knows(e->run.client, peer)) {
		if (client_receive(e->run.client, peer, m, now, f) < 0)
			return -1;
	}
	ask_cut(e, now);
	return 0;
}

/* The silence of peers in a pause of this program does not count. */
static void
note_pause(struct evaluator *e, uint64_t now)
{
	if (pause_excuse(&e->ticked, now, e->options.timeout_ms / 2, &e->heard,
			 &e->since) && e->run.client)
		client_skip_pause(e->run.client, now);
}

/* Once there is a cut, only the servers are needed. */
int
evaluator_tick(struct evaluator *e, uint64_t now, struct fail *f)
{
	const char *name = e->options.coordinator;
	const double seconds = (double)e->options.timeout_ms / 1000;
	size_t server;

	note_pause(e, now);
	if (e->run.client && client_check(e->run.client, now,
					  e->options.timeout_ms, &server,
					  f) < 0)
		return -1;
	if (e->cut != WIRE_NONE || now - e->since < e->options.timeout_ms)
		return 0;
	if (!e->up)
		return fail(f, FAIL_PEER, "coordinator %s %s within %g s",
			    name, e->run.model ? "has not come back" :
			    "does not answer", seconds);
	if (now - e->heard >= e->options.timeout_ms / 2)
		return fail(f, FAIL_PEER, "coordinator %s hangs, last heard "
			    "%.1f s ago", name,
			    (double)(now - e->heard) / 1000);
	if (!e->run.client)
		return fail(f, FAIL_PEER, "coordinator %s has not begun a run "
			    "within %g s", name, seconds);
	return fail(f, FAIL_PEER, "coordinator %s has not provided values of "
		    "one step within %g s", name, seconds);
}
