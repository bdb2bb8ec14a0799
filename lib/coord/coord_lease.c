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
lease_to(struct coord *c, struct member *w, const struct lease_room *room)
{
	struct message m = { .kind = MESSAGE_LEASE };
	struct leased *slot = w->lease;
	struct lease_terms terms;

	const uint64_t next = queue_next(c->queue);
	uint64_t server = WIRE_NONE;

	if (!rerun_lease(c, w, &terms, &server) &&
	    (!room->fresh ||
	     (c->o.ledger ? data_lease(c, w, room->limit, room->any, &terms) :
	      queue_lease(c->queue, w, c->o.pack, room->limit,
			  &terms)) == 0))
		return false;
	rerun_record(c, next);
	if (journal_failed(c))		/* what it is cannot be kept */
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
		w->unreachable = true;
	}
	return true;
}

bool
lease_next(struct coord *c, const struct lease_room *room)
{
	struct member *w = next_worker(c);

	if (!w)
		return false;
	if (lease_to(c, w, room))
		return true;
	if ((w = queue_held_up(c->queue)))
		w->behind = true;
	return false;
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
	rerun_return(c, w);
	memset(w->lease, 0, c->o.in_flight * sizeof(*w->lease));
}

uint64_t
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
		return queue_blame(c->queue, first->first + i, w) ?
			first->first + i : WIRE_NONE;
	}
	return WIRE_NONE;
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

void
lease_progress(struct coord *c, struct member *w, uint64_t id)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (w->lease[i].id == id) {
			w->begun_ms = c->now_ms;	/* with the next one */
			if (--w->lease[i].left == 0)
				w->lease[i].id = 0;
		}
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
