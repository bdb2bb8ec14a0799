/*
 * The coordinator's workers and evaluators: who is there, leases, results,
 * evaluations.
 */
#include "role/coord_inside.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEMBERS	65536

/* ---- who is there ---- */

static struct member *
find_life(const struct coord *c, uint64_t life)
{
	for (struct member *m = c->member; m; m = m->next)
		if (m->life == life)
			return m;
	return NULL;
}

static void
say_plan(struct coord *c, struct member *w)
{
	struct message m = { .kind = MESSAGE_PLAN };

	m.plan.term = c->plan.term;
	m.plan.plan = c->plan.number;
	m.plan.seed = c->plan.seed;
	m.plan.server = WIRE_NONE;
	m.plan.step = queue_mark(c->queue);
	m.blob = (struct frame){ c->plan.run, PLAN_RUN, NULL };
	m.frames = c->o.ledger ? 3 : 2;
	m.frame[0] = (struct frame){ c->model_frame.data,
				     c->model_frame.size, NULL };
	m.frame[1] = (struct frame){ c->plan_frame.data, c->plan_frame.size,
				     NULL };
	m.frame[2] = (struct frame){ c->format_frame.data,
				     c->format_frame.size, NULL };
	outbox_send(c->outbox, w->peer, &m);
}

static void
say_welcome(struct coord *c, struct member *w, const struct message *to)
{
	const struct message stop = { .kind = MESSAGE_STOP };
	struct message m = message_answer(to, MESSAGE_WELCOME);

	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_COORDINATOR;
	m.welcome.index = w->index;
	m.welcome.life = c->o.life;
	m.welcome.term = c->plan.term;
	m.welcome.plan = c->plan.number;
	m.blob = (struct frame){ c->plan.run, PLAN_RUN, NULL };
	outbox_send(c->outbox, w->peer, &m);
	if (c->phase == PHASE_RUN)
		say_plan(c, w);
	if (c->phase == PHASE_STOP)
		outbox_send(c->outbox, w->peer, &stop);
}

void
workers_say_plan(struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next)
		if (!m->gone)
			say_plan(c, m);
}

static struct member *
new_member(struct coord *c, const struct message *hello)
{
	struct member *m = mem_alloc(1, sizeof(*m));
	struct member **last = &c->member;

	m->role = (enum role)hello->hello.role;
	m->life = hello->hello.life;
	m->cut = m->stream = WIRE_NONE;
	m->index = hello->hello.index != WIRE_NONE ? hello->hello.index :
		c->workers_named;
	if (m->role == ROLE_WORKER && hello->hello.index == WIRE_NONE)
		c->workers_named++;
	snprintf(m->name, sizeof(m->name), "%s:%llu",
		 m->role == ROLE_WORKER ? "worker" : "evaluator",
		 (unsigned long long)m->index);
	m->lease = mem_alloc(c->o.in_flight, sizeof(*m->lease));
	while (*last)
		last = &(*last)->next;
	*last = m;
	return m;
}

static void
take_back(struct coord *c, struct member *w)
{
	queue_return(c->queue, w);
	if (c->rounds)
		rounds_lose(c->rounds, w);
	recover_return(c, w);
	memset(w->lease, 0, c->o.in_flight * sizeof(*w->lease));
}

static void
shard_back(struct coord *c, struct member *w)
{
	if (!w->evaluating)
		return;
	w->evaluating = false;
	c->shards_back = mem_resize(c->shards_back, c->shards_back_count + 1,
				    sizeof(*c->shards_back));
	c->shards_back[c->shards_back_count++] = w->shard;
}

static int
hello(struct coord *c, uint64_t peer, const struct message *m, uint64_t now,
      struct fail *f)
{
	struct member *w;
	char endpoint[256];

	if (m->hello.version != WIRE_VERSION)
		return fail(f, FAIL_PROTOCOL, "protocol version %llu, not %d: "
			    "use programs of one release",
			    (unsigned long long)m->hello.version,
			    WIRE_VERSION);
	if (m->hello.role == ROLE_SERVER && m->frames == 1 &&
	    m->frame[0].size < sizeof(endpoint)) {
		const struct message ok = message_answer(m, MESSAGE_OK);

		memcpy(endpoint, m->frame[0].data, m->frame[0].size);
		endpoint[m->frame[0].size] = '\0';
		if (fleet_register(c->fleet, m->hello.index, endpoint, f) < 0)
			return -1;
		outbox_send(c->outbox, peer, &ok);
		return 0;
	}
	if (m->hello.role != ROLE_WORKER && m->hello.role != ROLE_EVALUATOR)
		return fail(f, FAIL_PROTOCOL, "not a role that a coordinator "
			    "talks to");
	if (c->peers.count >= MAX_MEMBERS)
		return fail(f, FAIL_AGAIN, "too many peers");
	w = find_life(c, m->hello.life);
	if (!w)
		w = new_member(c, m);
	else if (w->peer != peer)	/* it has reconnected */
		peers_remove(&c->peers, w->peer);
	/* It gives up what it had: see worker_up(). */
	take_back(c, w);
	shard_back(c, w);
	data_take_back(c, w);
	w->peer = peer;
	w->heard = now;
	w->gone = w->ready = w->wants_cut = w->cancelling = false;
	peers_set(&c->peers, peer, w);
	say_welcome(c, w, m);
	return 0;
}

bool
worker_leasable(const struct member *m)
{
	return m->role == ROLE_WORKER && m->ready && !m->gone &&
		!m->exhausted;
}

size_t
workers_ready(const struct coord *c)
{
	size_t count = 0;

	for (const struct member *m = c->member; m; m = m->next)
		count += worker_leasable(m);
	return count;
}

bool
workers_can(const struct coord *c, enum request_op op)
{
	for (const struct member *m = c->member; m; m = m->next)
		if (m->role == ROLE_WORKER && !m->gone &&
		    (op != REQUEST_TRAIN || !m->exhausted))
			return true;
	return false;
}

size_t
workers_present(const struct coord *c)
{
	size_t count = 0;

	for (const struct member *m = c->member; m; m = m->next)
		count += m->role == ROLE_WORKER && !m->gone;
	return count;
}

/* An evaluator no longer needs the cut that it has. */
static void
let_go(struct coord *c, struct member *e)
{
	struct message m = { .kind = MESSAGE_THAW };

	if (e->cut == WIRE_NONE)
		return;
	m.cut.run = coord_run(c);
	m.cut.term = c->plan.term;
	m.cut.cut = e->cut;
	fleet_ask(c->fleet, &m);
	e->cut = WIRE_NONE;
}

void
workers_withdraw(struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next) {
		memset(m->lease, 0, c->o.in_flight * sizeof(*m->lease));
		shard_back(c, m);
		data_take_back(c, m);
		m->ready = m->wants_cut = m->cancelling = false;
		m->cut = WIRE_NONE;
	}
	queue_return(c->queue, NULL);
	sync_reset(c);
	recover_return(c, NULL);
}

/* A worker runs its leases in order: the first step left is to blame. */
static void
blame_step(struct coord *c, const struct member *w)
{
	const struct leased *first = NULL;

	for (size_t i = 0; i < c->o.in_flight; i++)
		if (w->lease[i].id && w->lease[i].server == WIRE_NONE &&
		    (!first || w->lease[i].id < first->id))
			first = &w->lease[i];
	for (uint64_t i = 0; first && i < first->count; i++) {
		const struct step *s = queue_step(c->queue, first->first + i);

		if (!s || s->state != STEP_LEASED || s->worker != w)
			continue;
		if (queue_blame(c->queue, first->first + i, w))
			coord_set_aside(c, first->first + i, w->name);
		return;
	}
}

void
workers_lost(struct coord *c, struct member *w)
{
	if (w->gone)
		return;
	w->gone = true;
	w->ready = w->cancelling = false;
	peers_remove(&c->peers, w->peer);
	if (w->role == ROLE_WORKER && c->phase < PHASE_STOP)
		report_warning(c, "%s is gone", w->name);
	take_back(c, w);
	shard_back(c, w);
	data_take_back(c, w);
	w->wants_cut = false;
	let_go(c, w);
}

/* It left without a word, as nobody does who was asked to stop. */
static void
died(struct coord *c, struct member *w)
{
	if (!w->gone && w->role == ROLE_WORKER && c->phase == PHASE_RUN)
		blame_step(c, w);
	workers_lost(c, w);
}

/* ROUTER tells who is gone when it is told to send to them. */
void
workers_probe(struct coord *c, uint64_t now)
{
	const struct message ping = { .kind = MESSAGE_PING };

	c->probed_ms = now;
	for (struct member *m = c->member; m; m = m->next)
		if (!m->gone && outbox_send(c->outbox, m->peer, &ping) < 0)
			died(c, m);
}

void
workers_stop(struct coord *c)
{
	const struct message stop = { .kind = MESSAGE_STOP };

	for (struct member *m = c->member; m; m = m->next)
		if (!m->gone)
			outbox_send(c->outbox, m->peer, &stop);
}

void
members_free(struct coord *c)
{
	struct member *next;

	for (struct member *m = c->member; m; m = next) {
		next = m->next;
		free(m->lease);
		free(m);
	}
	peers_release(&c->peers);
}

/* ---- leases ---- */

/*
 * The one with the fewest leases, of these who has waited longest, or NULL.
 * Who is behind gets none ahead: that one would hold everybody up again.
 */
static struct member *
next_worker(const struct coord *c)
{
	struct member *best = NULL;
	size_t least = c->o.in_flight;

	for (struct member *m = c->member; m; m = m->next) {
		size_t has = 0;

		if (!worker_leasable(m))
			continue;
		for (size_t i = 0; i < c->o.in_flight; i++)
			has += m->lease[i].id != 0;
		if (has > least || has == c->o.in_flight ||
		    (m->behind && has > 0) ||
		    (has == least && best && m->leased >= best->leased))
			continue;
		best = m;
		least = has;
	}
	return best;
}

/* No step at or over it is begun now. */
static uint64_t
lease_limit(const struct coord *c)
{
	const uint64_t window = c->mark_told + WINDOW;
	const uint64_t next = queue_next(c->queue);
	const uint64_t above = fleet_above(c->fleet);
	uint64_t limit = c->next_save;

	if (c->stopping)
		return next > above ? next : above;
	if (c->cut_state == CUT_FREEZE ||
	    (c->cut_state == CUT_OPEN && !c->cut_reached))
		limit = c->cut_step;
	return window < limit ? window : limit;
}

/* false: there is nothing to give out now. */
static bool
lease_to(struct coord *c, struct member *w)
{
	struct message m = { .kind = MESSAGE_LEASE };
	struct leased *slot = w->lease;
	struct lease_terms terms;

	const uint64_t next = queue_next(c->queue);
	uint64_t server = WIRE_NONE;

	if (!recover_lease(c, w, &terms, &server) &&
	    (c->stopping || c->cancelling ||
	     (c->o.ledger ? data_lease(c, w, lease_limit(c), &terms) :
	      queue_lease(c->queue, w, c->o.pack, lease_limit(c),
			  &terms)) == 0))
		return false;
	recover_note(c, next);
	while (slot->id != 0)
		slot++;
	slot->id = w->leased = m.request = ++c->leases;
	slot->left = slot->count = terms.count;
	slot->first = terms.first;
	slot->server = m.lease.server = server;
	m.lease.term = c->plan.term;
	m.lease.first = terms.first;
	m.lease.count = terms.count;
	m.lease.attempt = terms.attempt;
	m.lease.batch = terms.batch ? terms.batch : c->o.batch;
	m.lease.rate = message_float_bits(terms.learning_rate);
	m.lease.pass = terms.pass;
	m.lease.more = terms.more;
	if (c->o.ledger)
		data_describe(c, &terms, 0, &m);
	if (outbox_send(c->outbox, w->peer, &m) < 0) {
		memset(slot, 0, sizeof(*slot));	/* it never had that one */
		died(c, w);
	}
	return true;
}

void
workers_lease(struct coord *c)
{
	struct member *w;

	if (c->o.mode == MODE_SYNC) {
		sync_lease(c, lease_limit(c));
		return;
	}
	while ((w = next_worker(c)) && lease_to(c, w))
		;
	if (w && (w = queue_held_up(c->queue)))
		w->behind = true;
}

void
workers_cancel(struct coord *c, uint64_t first, uint64_t count)
{
	struct message m = { .kind = MESSAGE_CANCEL };

	m.cancel.first = first;
	m.cancel.count = count;
	for (struct member *w = c->member; w; w = w->next) {
		if (w->role != ROLE_WORKER || w->gone)
			continue;
		outbox_send(c->outbox, w->peer, &m);
		memset(w->lease, 0, c->o.in_flight * sizeof(*w->lease));
		/* A slot that is pushed now is not committed, or is. */
		w->cancelling = c->o.mode != MODE_SYNC;
	}
}

bool
workers_cancelling(const struct coord *c)
{
	for (const struct member *w = c->member; w; w = w->next)
		if (w->cancelling && !w->gone)
			return true;
	return false;
}

static void
lease_progress(struct coord *c, struct member *w, uint64_t id)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (w->lease[i].id == id && --w->lease[i].left == 0)
			w->lease[i].id = 0;
}

/*
 * A step counts when it is first reported done: all of its parts have been
 * acknowledged.  What comes later, of another attempt, is no news.
 */
static void
take_result(struct coord *c, struct member *w, const struct message *m,
	    const struct result *r, const float *scores,
	    const unsigned char *positive, uint64_t now)
{
	const struct step *step = queue_step(c->queue, r->step);
	const bool failed = c->failing && c->failed_step == r->step;

	if (c->o.mode == MODE_SYNC) {
		sync_take(c, w, m->request, r, scores, positive);
		return;
	}
	if (r->step != queue_mark(c->queue))
		w->behind = false;
	if (step && !r->voided && !failed) {
		report_step(c, step, r, w->name, scores, positive);
		totals_add(&c->join, c, r, scores, positive);
		totals_add(&c->all, c, r, NULL, NULL);
		data_done(c, step, r, scores, positive, now);
		coord_count(c, step, r);
		journal_done(c, r->step);
		queue_end(c->queue, r->step);
	}
	lease_progress(c, w, m->request);
}

/* The lease of that number, or NULL. */
static struct leased *
find_lease(const struct coord *c, const struct member *w, uint64_t id)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (id && w->lease[i].id == id)
			return &w->lease[i];
	return NULL;
}

static int
take_done(struct coord *c, struct member *w, const struct message *m,
	  uint64_t now, struct fail *f)
{
	const struct leased *l = find_lease(c, w, m->request);
	const uint64_t server = l ? l->server : WIRE_NONE;

	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const unsigned char *positive;
	const void *bytes;
	struct result r;
	size_t left;

	if (m->done.term != c->plan.term)
		return 0;	/* what a server may have lost since */
	if (result_scores(m, &bytes, &positive, &left, f) < 0)
		return -1;

	/* The frame may lie at any address. */
	float *scores = mem_alloc(left, sizeof(*scores));
	size_t at = 0;

	if (m->done.count == 0)
		sync_given_back(c, w, m->request);

	if (left > 0)
		memcpy(scores, bytes, left * sizeof(*scores));
	for (uint64_t i = 0; i < m->done.count; i++) {
		if (!result_read(&u, &r, c->metrics) || r.scores > left)
			break;
		if (server == WIRE_NONE) {
			take_result(c, w, m, &r, scores + at, positive + at,
				    now);
		} else {	/* it has been told before */
			recover_ended(c, server, r.step);
			lease_progress(c, w, m->request);
		}
		at += r.scores;
		left -= r.scores;
	}
	free(scores);
	return unpack_ok(&u) ? 0 : fail(f, FAIL_PROTOCOL,
					"malformed results");
}

/* An error of the step's own making: it is given up, and all that waits. */
static void
take_failed(struct coord *c, struct member *w, const struct message *m,
	    uint64_t now)
{
	const struct step *step = queue_step(c->queue, m->failed.step);
	const struct leased *l = find_lease(c, w, m->request);
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	message_text(m, text, sizeof(text));
	if (m->failed.term != c->plan.term)
		return;
	if (l && (l->server != WIRE_NONE || (l->at.number > 0 && !step))) {
		fail(&why, message_status(m->failed.status), "%s", text);
		recover_failed(c, m->failed.step, l->server, &why, now);
		take_back(c, w);
		return;
	}
	if (!step || c->cancelling ||
	    (c->o.mode == MODE_SYNC && !sync_counts(c, w, m->request)))
		return;		/* of an attempt that no longer counts */
	fail(&c->step_error, message_status(m->failed.status), "%s", text);
	free(c->failed_id);
	c->failed_id = step->order && queue_id(c->queue, m->failed.step) ?
		mem_text(queue_id(c->queue, m->failed.step)) : NULL;
	c->failed_step = m->failed.step;
	snprintf(c->failed_worker, sizeof(c->failed_worker), "%s", w->name);
	c->failing = true;
	coord_void(c);
}

/* ---- evaluations ---- */

static bool
evaluates(const struct member *m)
{
	return m->role == ROLE_WORKER && m->ready && !m->gone;
}

void
workers_evaluate(struct coord *c, const struct request *r, uint64_t now)
{
	struct pack files = { 0 };
	size_t count = 0;

	for (const struct member *w = c->member; w; w = w->next)
		count += evaluates(w);
	if (count == 0)
		return;
	if (!c->evaluating) {
		c->evaluating = true;
		c->shards = c->shards_left = count;
		c->shard_next = 0;
		c->shards_back_count = 0;
		totals_reset(&c->eval, now);
	}
	if (r->files == 0 && c->o.ledger)
		ledger_write_files(c->o.ledger, &files);
	else
		pack_array(&files, r->files);
	for (size_t i = 0; i < r->files; i++)
		pack_text(&files, r->file[i]);
	for (struct member *w = c->member; w; w = w->next) {
		struct message m = { .kind = MESSAGE_EVALUATE };

		if (!evaluates(w) || w->evaluating)
			continue;
		if (c->shards_back_count > 0)
			w->shard = c->shards_back[--c->shards_back_count];
		else if (c->shard_next < c->shards)
			w->shard = c->shard_next++;
		else
			break;
		w->evaluating = true;
		w->request = m.request = ++c->eval_requests;
		m.evaluate.term = c->plan.term;
		m.evaluate.shard = w->shard;
		m.evaluate.shards = c->shards;
		m.evaluate.batch = c->o.batch < 256 ? 256 : c->o.batch;
		m.frames = 1;
		m.frame[0] = (struct frame){ files.data, files.size, NULL };
		if (outbox_send(c->outbox, w->peer, &m) < 0)
			workers_lost(c, w);
	}
	pack_release(&files);
}

static int
take_evaluated(struct coord *c, struct member *w, const struct message *m,
	       struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const unsigned char *positive;
	const void *bytes;
	struct result r;
	size_t count;

	if (!w->evaluating || m->request != w->request)
		return 0;	/* of one that is over */
	if (result_scores(m, &bytes, &positive, &count, f) < 0)
		return -1;
	if (!result_read(&u, &r, c->metrics) || r.scores > count)
		return fail(f, FAIL_PROTOCOL, "malformed result");

	float *scores = mem_alloc(count, sizeof(*scores));

	if (count > 0)
		memcpy(scores, bytes, count * sizeof(*scores));
	w->evaluating = false;
	totals_add(&c->eval, c, &r, scores, positive);
	c->shards_left--;
	free(scores);
	return 0;
}

/* An evaluation that cannot be: bad data, no such file. */
static void
evaluation_refused(struct coord *c, struct member *w,
		   const struct message *m)
{
	const struct request *r = queue_barrier(c->queue);
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	if (!w->evaluating || m->request != w->request || !r)
		return;
	message_text(m, text, sizeof(text));
	fail(&why, message_status(m->refused.status), "%s", text);
	report_error(c, r->id, "eval", WIRE_NONE, w->name, why.text);
	for (struct member *o = c->member; o; o = o->next)
		o->evaluating = false;
	c->evaluating = false;
	coord_pass(c);
	coord_error(c, &why);
}

/* ---- messages ---- */

/* A worker cannot reach a server.  Are we waiting for it, too? */
static void
take_lost(struct coord *c, struct member *w, const struct message *m)
{
	struct message out = message_answer(m, MESSAGE_OK);
	char text[MESSAGE_BLOB + 1];

	if (c->phase == PHASE_RUN && m->lost.server < c->o.servers &&
	    fleet_present_at(c->fleet, m->lost.server)) {
		message_text(m, text, sizeof(text));
		report_warning(c, "%s: %s", w->name, text);
		out = message_refuse(m, FAIL_PEER, "the coordinator can");
	}
	outbox_send(c->outbox, w->peer, &out);
}

static int
hear_member(struct coord *c, struct member *w, const struct message *m,
	    uint64_t now, struct fail *f)
{
	const struct message pong = message_answer(m, MESSAGE_PONG);

	switch (m->kind) {
	case MESSAGE_READY:
		w->ready = true;
		w->exhausted = false;
		break;
	case MESSAGE_DONE:
		return take_done(c, w, m, now, f);
	case MESSAGE_FAILED:
		take_failed(c, w, m, now);
		break;
	case MESSAGE_OK:
		w->cancelling = false;
		break;
	case MESSAGE_EXHAUSTED:
		if (!w->exhausted && m->exhausted.records != WIRE_NONE)
			report_warning(c, "%s has used up its data: %llu "
				       "records", w->name, (unsigned long long)
				       m->exhausted.records);
		w->exhausted = true;
		if (c->o.mode != MODE_SYNC)	/* or it says which */
			take_back(c, w);
		break;
	case MESSAGE_EVALUATED:
		return take_evaluated(c, w, m, f);
	case MESSAGE_INDEXED:
		return data_counted(c, w, m, now, f);
	case MESSAGE_REFUSED:
		evaluation_refused(c, w, m);
		data_refused(c, w, m, now);
		break;
	case MESSAGE_LOST:
		take_lost(c, w, m);
		break;
	case MESSAGE_CUT:
		let_go(c, w);	/* it never heard of that one */
		w->wants_cut = w->role == ROLE_EVALUATOR;
		w->request = m->request;
		break;
	case MESSAGE_THAW:
		let_go(c, w);
		break;
	case MESSAGE_BYE:
		workers_lost(c, w);
		break;
	case MESSAGE_PING:
		outbox_send(c->outbox, w->peer, &pong);
		break;
	default:
		break;
	}
	return 0;
}

void
workers_hear(struct coord *c, uint64_t peer, const struct message *m,
	     uint64_t now)
{
	struct member *w = peers_find(&c->peers, peer);
	struct message out;
	struct fail f;

	int status = 0;

	if (m->kind == MESSAGE_HELLO) {
		status = hello(c, peer, m, now, &f);
	} else if (w) {
		w->heard = now;
		status = hear_member(c, w, m, now, &f);
	} else if (m->kind != MESSAGE_BYE && m->kind != MESSAGE_PONG) {
		status = fail(&f, FAIL_PROTOCOL, "say HELLO first");
	}
	if (status == 0)
		return;
	out = message_refuse(m, f.kind, f.text);
	outbox_send(c->outbox, peer, &out);
}
