/*
 * The coordinator's leases: workers are given steps, and say what came of
 * them.
 */
#include "coord/coord_inside.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- giving out ---- */

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

uint64_t
lease_limit(const struct coord *c)
{
	const uint64_t window = c->mark_told + WINDOW;
	const uint64_t next = queue_next(c->queue);
	const uint64_t above = fleet_above(c->fleet);
	const uint64_t limit = cut_limit(c);

	if (c->stopping || c->suspending)
		return next > above ? next : above;
	if (c->output.size >= COORD_OUTPUT)
		return next;
	return window < limit ? window : limit;
}

static bool
has_lease(const struct coord *c, const struct member *w)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (w->lease[i].id != 0)
			return true;
	return false;
}

bool
lease_held(const struct coord *c)
{
	for (const struct member *w = c->member; w; w = w->next)
		if (worker_answers(w) && has_lease(c, w))
			return true;
	return false;
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

	if (!rerun_lease(c, w, &terms, &server) &&
	    (((c->stopping || c->cancelling) && !void_finishes(c)) ||
	     (c->o.ledger ? data_lease(c, w, lease_limit(c), &terms) :
	      queue_lease(c->queue, w, c->o.pack, lease_limit(c),
			  &terms)) == 0))
		return false;
	rerun_record(c, next);
	if (c->phase != PHASE_RUN)	/* what it is cannot be kept */
		return false;
	while (slot->id != 0)
		slot++;
	if (!has_lease(c, w))
		w->begun_ms = c->now_ms;
	slot->id = w->leased = m.request = ++c->leases;
	slot->left = slot->count = terms.count;
	slot->first = terms.first;
	slot->server = m.lease.server = server;
	if (server == WIRE_NONE && terms.attempt > 1)
		c->retried += terms.count;
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
		workers_died(c, w);
	}
	return true;
}

void
lease_give_out(struct coord *c)
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

/* ---- taking back ---- */

struct leased *
lease_find(const struct coord *c, const struct member *w, uint64_t id)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (id && w->lease[i].id == id)
			return &w->lease[i];
	return NULL;
}

void
lease_call_off(struct coord *c, const struct member *w,
	       const struct leased *l)
{
	struct message m = { .kind = MESSAGE_CANCEL, .request = l->id };

	m.cancel.first = l->first;
	m.cancel.count = l->count;
	if (l->id != 0)
		outbox_send(c->outbox, w->peer, &m);
}

void
lease_take_back(struct coord *c, struct member *w)
{
	queue_return(c->queue, w);
	if (c->rounds)
		rounds_lose(c->rounds, w);
	rerun_return(c, w);
	memset(w->lease, 0, c->o.in_flight * sizeof(*w->lease));
}

void
lease_blame(struct coord *c, const struct member *w)
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
			void_set_aside(c, first->first + i);
		return;
	}
}

void
lease_cancel(struct coord *c, uint64_t first, uint64_t count)
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
	rerun_return(c, NULL);	/* it is not what is given up */
}

bool
lease_cancelling(const struct coord *c)
{
	for (const struct member *w = c->member; w; w = w->next)
		if (w->cancelling && worker_answers(w))
			return true;
	return false;
}

/* ---- what came of them ---- */

static void
progress(struct coord *c, struct member *w, uint64_t id)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (w->lease[i].id == id) {
			w->begun_ms = c->now_ms;	/* with the next one */
			if (--w->lease[i].left == 0)
				w->lease[i].id = 0;
		}
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
		cut_count(c, step, r);
		journal_done(c, r->step);
		queue_end(c->queue, r->step);
		w->steps++;
		watch_note(c, r->microseconds);
	}
	progress(c, w, m->request);
}

/* Others get what it has, and it is told: or it would go on with that, and a
   round could wait for what waits behind it. */
static void
call_back(struct coord *c, struct member *w)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		lease_call_off(c, w, &w->lease[i]);
	lease_take_back(c, w);
}

int
lease_done(struct coord *c, struct member *w, const struct message *m,
	   uint64_t now, struct fail *f)
{
	const struct leased *l = lease_find(c, w, m->request);
	const uint64_t server = l ? l->server : WIRE_NONE;

	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const unsigned char *positive;
	const void *bytes;
	struct result r;
	bool three_classes = false;
	struct fail why;
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
		if (!result_read(&u, &r, c->metrics) || r.scores > left) {
			u.bad = true;
			break;
		}
		if (server == WIRE_NONE) {
			take_result(c, w, m, &r, scores + at,
				    positive ? positive + at : NULL, now);
			if (totals_add_noes(&c->all, &r, w->name, &why) < 0)
				three_classes = true;
		} else {	/* it has been told before */
			rerun_ended(c, server, r.step);
			progress(c, w, m->request);
		}
		at += r.scores;
		left -= r.scores;
	}
	free(scores);
	if (!unpack_ok(&u))
		return fail(f, FAIL_PROTOCOL, "malformed results");
	if (three_classes) {
		report_error(c, NULL, "data", WIRE_NONE, w->name, why.text);
		end_fail(c, &why, now);
	}
	return 0;
}

void
lease_failed(struct coord *c, struct member *w, const struct message *m,
	     uint64_t now)
{
	const struct step *step = queue_step(c->queue, m->failed.step);
	struct leased *l = lease_find(c, w, m->request);
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	message_text(m, text, sizeof(text));
	if (m->failed.term != c->plan.term)
		return;
	if (l && (l->server != WIRE_NONE || (l->at.number > 0 && !step))) {
		fail(&why, message_status(m->failed.status), "%s", text);
		rerun_failed(c, m->failed.step, l->server, &why, now);
		call_back(c, w);
		return;
	}
	if (c->cancelling) {	/* a part of it may have been applied */
		queue_return(c->queue, w);
		if (!c->rounds)	/* and it is not tried for ever */
			queue_set_aside(c->queue, m->failed.step);
		if (l)
			l->id = 0;
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
	void_begin(c);
}

void
lease_exhausted(struct coord *c, struct member *w, const struct message *m)
{
	if (!w->exhausted && m->exhausted.records != WIRE_NONE)
		report_warning(c, "%s has used up its data: %llu records",
			       w->name, (unsigned long long)
			       m->exhausted.records);
	w->exhausted = true;
	if (c->o.mode != MODE_SYNC)	/* or it says which */
		lease_take_back(c, w);
}
