/*
 * Messages of workers, evaluators and relays to the coordinator, and what it
 * does when one of them is gone: each part takes back what that member had.
 */
#include "coord/coord_receive.h"

#include "base/mem.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_evaluate.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_relays.h"
#include "coord/coord_report.h"
#include "coord/coord_steps.h"
#include "coord/coord_watch.h"
#include "coord/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEMBERS	65536
#define MAX_GONE	1024		/* gone workers that are remembered, as
					   they may come back */

/* ---- who is there ---- */

static void
send_plan(struct coord *c, struct member *w)
{
	struct message m = { .kind = MESSAGE_PLAN };

	m.plan.term = c->plan.term;
	m.plan.plan = c->plan.number;
	m.plan.seed = c->plan.seed;
	m.plan.batches = c->plan.batches;
	m.plan.server = WIRE_NONE;
	m.plan.step = queue_watermark(c->queue);
	m.blob = (struct frame){ c->plan.run, PLAN_RUN, NULL };
	m.frames = c->o.samplers ? 3 : 2;
	m.frame[0] = (struct frame){ c->model_frame.data,
				     c->model_frame.size, NULL };
	m.frame[1] = (struct frame){ c->plan_frame.data, c->plan_frame.size,
				     NULL };
	m.frame[2] = (struct frame){ c->format_frame.data,
				     c->format_frame.size, NULL };
	outbox_send(c->outbox, w->peer, &m);
}

static void
send_welcome(struct coord *c, struct member *w, const struct message *to)
{
	const struct message stop = { .kind = MESSAGE_STOP };

	members_welcome(c, w->peer, w->index, to);
	if (c->phase == PHASE_RUN)
		send_plan(c, w);
	if (ending_state(c) == ENDING_STOP)
		outbox_send(c->outbox, w->peer, &stop);
}

void
receive_send_plan(struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next) {
		m->relieved = false;	/* a new term ends what it is at */
		if (!m->gone)
			send_plan(c, m);
	}
}

/* Can a member be forgotten?  Steps may still point at a worker that was ever
   ready; such a worker is kept until there are too many. */
static bool
is_forgettable(const struct coord *c, const struct member *m, size_t gone)
{
	if (!m->gone || cut_is_for(c, m))
		return false;
	return m->role != ROLE_WORKER || !m->joined ||
		(gone > MAX_GONE && !queue_references(c->queue, m));
}

/* Forget members that are gone, the oldest first; returns how many are left. */
static size_t
forget_gone(struct coord *c)
{
	struct member *next;
	size_t left = 0, gone = 0;

	for (const struct member *m = c->member; m; m = m->next)
		gone += m->gone;
	for (struct member *m = c->member; m; m = next) {
		next = m->next;
		if (is_forgettable(c, m, gone)) {
			members_forget(c, m);
			gone--;
		} else {
			left++;
		}
	}
	return left;
}

static void
mark_gone(struct coord *c, struct member *w)
{
	if (w->gone)
		return;
	w->gone = true;
	w->ready = w->relieved = false;
	lease_answered(c, w);
	members_hang_up(c, w);
	if (w->role != ROLE_EVALUATOR && c->phase != PHASE_END)
		report_peer(c, "%s is gone", w->name);
	if (w->role == ROLE_RELAY)
		relays_changed(c);
	steps_take_back(c, w);
	evaluate_take_back(c, w);
	data_take_back(c, w);
	cut_leave(c, w);
	cut_let_go(c, w);
}

/* Add a member: each part that keeps something of members makes room for it. */
static struct member *
add_member(struct coord *c, const struct message *hello)
{
	struct member *m = members_add(c, hello);

	lease_join(c, m);
	data_join(c, m);
	evaluate_join(c, m);
	cut_join(c, m);
	watch_join(c, m);
	relays_join(c, m);
	return m;
}

/* Refuse a relay whose site has one.  The old relay may have died unnoticed: it
   is probed, and if it cannot be sent to, the new one takes its place. */
static int
replace_rival(struct coord *c, const struct message *m, struct fail *f)
{
	const struct message ping = { .kind = MESSAGE_PING };
	struct member *rival = relays_rival(c, m);

	if (!rival)
		return 0;
	if (!outbox_reaches(c->outbox, rival->peer, &ping)) {
		mark_gone(c, rival);
		return 0;
	}
	return fail(f, FAIL_AGAIN, "the site %s has a relay, at %s",
		    relays_site(c, rival), relays_endpoint(c, rival));
}

static int
hello(struct coord *c, uint64_t peer, const struct message *m, uint64_t now,
      struct fail *f)
{
	struct member *w, *before = members_at(c, peer);
	char endpoint[256];

	if (message_check_hello(m, f) < 0)
		return -1;
	if (m->hello.role == ROLE_SERVER && m->frames == 1 &&
	    m->frame[0].size < sizeof(endpoint)) {
		const struct message ok = message_answer(m, MESSAGE_OK);

		memcpy(endpoint, m->frame[0].data, m->frame[0].size);
		endpoint[m->frame[0].size] = '\0';
		if (fleet_register(c->fleet, m->hello.index, peer, endpoint,
				   now, f) < 0)
			return -1;
		outbox_send(c->outbox, peer, &ok);
		return 0;
	}
	if (m->hello.role == ROLE_COORDINATOR || m->hello.role == ROLE_STANDBY)
		return fail(f, FAIL_CONFIG, "it is a coordinator, not a "
			    "server");
	if (m->hello.role != ROLE_WORKER && m->hello.role != ROLE_EVALUATOR &&
	    m->hello.role != ROLE_RELAY)
		return fail(f, FAIL_PROTOCOL, "a coordinator has no "
			    "connections from this role");
	if (relays_check_hello(m, f) < 0 || replace_rival(c, m, f) < 0)
		return -1;
	w = members_find(c, m->hello.life);
	if (before && before != w)	/* one peer is one member */
		mark_gone(c, before);
	if (!w && forget_gone(c) >= MAX_MEMBERS)
		return fail(f, FAIL_AGAIN, "too many peers");
	if (!w)
		w = add_member(c, m);
	else if (w->peer != peer && !w->gone)	/* it has reconnected */
		members_hang_up(c, w);
	/* A worker that connects gives up its leases: see worker_up(). */
	steps_take_back(c, w);
	evaluate_take_back(c, w);
	data_take_back(c, w);
	w->heard = now;
	lease_answered(c, w);
	cut_leave(c, w);
	watch_answered(c, w);
	w->gone = w->ready = w->silent = w->relieved = false;
	members_call(c, w, peer);
	relays_greet(c, w, m);
	send_welcome(c, w, m);
	return 0;
}

/* A member left without BYE, which it sends when it is stopped: it died, and
   what it was at may be the cause.  While servers are given a new term it is at
   nothing, but what it was at before may have been pushed. */
static void
mark_died(struct coord *c, struct member *w)
{
	if (!w->gone && w->role == ROLE_WORKER && c->phase != PHASE_END) {
		const uint64_t step = lease_blame(c, w);

		if (step != WIRE_NONE)
			cancel_quarantine(c, step);
		cancel_worker_died(c);
		evaluate_died(c, w);
		data_died(c, w);
	}
	mark_gone(c, w);
}

/*
 * Give to others what a worker has, and send it CANCEL.  Its results still
 * count if they come first.  It is leased nothing until its OK says that it is
 * at nothing any more.
 */
static void
reassign_work(struct coord *c, struct member *w)
{
	struct message m = { .kind = MESSAGE_CANCEL };

	steps_take_back(c, w);
	evaluate_take_back(c, w);
	data_take_back(c, w);
	cancel_worker_hangs(c);
	w->relieved = true;
	m.cancel.count = UINT64_MAX;
	outbox_send(c->outbox, w->peer, &m);
}

void
receive_silence(struct coord *c, uint64_t now)
{
	struct member *m;

	while ((m = watch_silent(c, now)))
		if (m->role == ROLE_WORKER)
			reassign_work(c, m);
		else	/* an evaluator may have a cut, which servers keep for
			   it until it is gone */
			mark_gone(c, m);
}

void
receive_late(struct coord *c, uint64_t now)
{
	struct member *w;

	while ((w = watch_late(c, now)))
		reassign_work(c, w);
}

/* When no worker has a lease, whatever still says so is wrong: clear it. */
void
receive_anew(struct coord *c)
{
	for (struct member *w = c->member; w; w = w->next)
		if (w->role == ROLE_WORKER && !w->gone)
			steps_take_back(c, w);
	c->scheduler->reset(c);
}

/* The probe for a member: PING; or for an evaluator that waits for its cut
   while a checkpoint is written, CUT, which says so. */
static struct message
probe_of(const struct coord *c, const struct member *m)
{
	struct message probe = { .kind = MESSAGE_PING };
	uint64_t request;

	if (cut_awaits(c, m, &request)) {
		probe.kind = MESSAGE_CUT;
		probe.request = request;
		probe.cut.cut = WIRE_NONE;
	}
	return probe;
}

/* ZeroMQ's ROUTER reports that a peer is gone only when it is to send to it: so
   each member is sent something. */
void
receive_probe(struct coord *c, uint64_t now)
{
	c->probed_ms = now;
	for (struct member *m = c->member; m; m = m->next) {
		const struct message probe = probe_of(c, m);

		if (m->gone)
			continue;
		if (!outbox_reaches(c->outbox, m->peer, &probe))
			mark_died(c, m);
		watch_asks(c, m, probe.kind == MESSAGE_PING, now);
	}
}

/* ---- messages ---- */

/* A worker cannot reach a server.  OK lets it wait, if the coordinator waits
   for that server, too; else the worker is refused. */
static void
take_lost(struct coord *c, struct member *w, const struct message *m)
{
	struct message out = message_answer(m, MESSAGE_OK);
	char text[MESSAGE_BLOB + 1];

	if (c->phase == PHASE_RUN && m->lost.server < c->o.servers &&
	    fleet_present_at(c->fleet, m->lost.server)) {
		message_text(m, text, sizeof(text));
		report_peer(c, "%s: %s", w->name, text);
		out = message_refuse(m, FAIL_PEER, "the coordinator can");
	}
	outbox_send(c->outbox, w->peer, &out);
}

static bool
is_relays(enum message_kind kind)
{
	return kind == MESSAGE_READY || kind == MESSAGE_PING ||
		kind == MESSAGE_PONG || kind == MESSAGE_BYE ||
		kind == MESSAGE_REFUSED;
}

static int
take(struct coord *c, struct member *w, const struct message *m,
	    uint64_t now, struct fail *f)
{
	const struct message pong = message_answer(m, MESSAGE_PONG);

	if (w->role == ROLE_RELAY && !is_relays(m->kind))
		return fail(f, FAIL_DENIED, "a relay may not send %s",
			    message_name(m->kind));
	switch (m->kind) {
	case MESSAGE_READY:
		w->ready = w->joined = true;
		w->exhausted = false;
		relays_changed(c);
		break;
	case MESSAGE_DONE:
		return steps_done(c, w, m, now, f);
	case MESSAGE_FAILED:
		steps_failed(c, w, m);
		break;
	case MESSAGE_OK:
		lease_answered(c, w);
		w->relieved = false;
		break;
	case MESSAGE_EXHAUSTED:
		lease_exhausted(c, w, m);
		break;
	case MESSAGE_EVALUATED:
		return evaluate_done(c, w, m, f);
	case MESSAGE_INDEXED:
		return data_counted(c, w, m, f);
	case MESSAGE_REFUSED:
		evaluate_refused(c, w, m);
		data_refused(c, w, m);
		break;
	case MESSAGE_LOST:
		take_lost(c, w, m);
		break;
	case MESSAGE_CUT:
		if (w->role != ROLE_EVALUATOR)
			return fail(f, FAIL_DENIED, "only an evaluator may "
				    "send CUT");
		cut_ask(c, w, m->request);
		break;
	case MESSAGE_THAW:
		cut_let_go(c, w);
		break;
	case MESSAGE_BYE:
		mark_gone(c, w);
		break;
	case MESSAGE_PING:
		outbox_send(c->outbox, w->peer, &pong);
		break;
	case MESSAGE_PONG:
		break;
	default:
		return fail(f, FAIL_PROTOCOL, "%s is not for a coordinator",
			    message_name(m->kind));
	}
	return 0;
}

/* A member whose name another one took sends a message: so the other is not the
   same worker, started again, but two have one name. */
static void
warn_doubled(struct coord *c, struct member *w, const struct message *m)
{
	if (w->name_taken && m->kind != MESSAGE_BYE)
		report_peer(c, "there are two %s: give each its own -i",
			    w->name);
	w->name_taken = false;
}

void
receive_member(struct coord *c, uint64_t peer, const struct message *m,
	       uint64_t now)
{
	struct member *w = members_at(c, peer);
	struct message out;
	struct fail f;

	int status = 0;

	if (m->kind == MESSAGE_HELLO) {
		status = hello(c, peer, m, now, &f);
	} else if (w) {
		w->heard = now;
		watch_hears(c, w, now);
		warn_doubled(c, w, m);
		status = take(c, w, m, now, &f);
	} else if (m->kind != MESSAGE_BYE && m->kind != MESSAGE_PONG) {
		status = fail(&f, FAIL_PROTOCOL, "say HELLO first");
	}
	if (status == 0)
		return;
	out = message_refuse(m, f.kind, f.text);
	outbox_send(c->outbox, peer, &out);
}
