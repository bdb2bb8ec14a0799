/*
 * The coordinator's leases: which steps, or replicas of a round, each worker
 * has.
 */
#include "coord/coord_lease.h"

#include "base/mem.h"
#include "coord/coord_data.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The leases of a worker. */
struct worker_leases {
	struct leased *lease;	/* in_flight of them; id 0: free */
	uint64_t last;		/* the number of its last lease */
	uint64_t begun_ms;	/* since when it has been at its first step */
	uint64_t results;	/* steps, or replicas, whose result was its
				   own */
	bool laggard;		/* all others had to wait for it */
	bool cancelling;	/* it may be at a step that was cancelled */
};

struct leases {
	uint64_t given;		/* the number of the last lease */
	uint64_t retried;	/* attempts that were not the first */
	struct worker_leases *of;	/* each member, by its index */
	size_t room;
};

void
lease_init(struct coord *c)
{
	c->leases = mem_alloc(1, sizeof(*c->leases));
}

void
lease_release(struct coord *c)
{
	for (size_t i = 0; i < c->leases->room; i++)
		free(c->leases->of[i].lease);
	free(c->leases->of);
	free(c->leases);
}

static struct worker_leases *
leases_of(const struct coord *c, const struct member *w)
{
	return &c->leases->of[w->at];
}

void
lease_join(struct coord *c, const struct member *w)
{
	struct leases *l = c->leases;
	struct leased *lease = w->at < l->room ? l->of[w->at].lease : NULL;

	free(lease);
	l->of = members_room(l->of, &l->room, w, sizeof(*l->of));
	l->of[w->at].lease = mem_alloc(c->o.in_flight, sizeof(*lease));
}

struct leased *
lease_of(const struct coord *c, const struct member *w)
{
	return leases_of(c, w)->lease;
}

uint64_t
lease_retried(const struct coord *c)
{
	return c->leases->retried;
}

uint64_t
lease_results(const struct coord *c, const struct member *w)
{
	return leases_of(c, w)->results;
}

uint64_t
lease_begun(const struct coord *c, const struct member *w)
{
	return leases_of(c, w)->begun_ms;
}

/* ---- giving out ---- */

struct leased *
lease_add(struct coord *c, struct member *w, bool begins)
{
	struct worker_leases *h = leases_of(c, w);
	struct leased *l = h->lease;

	while (l->id != 0)
		l++;
	if (begins)
		h->begun_ms = c->now_ms;
	*l = (struct leased){ .id = ++c->leases->given, .server = WIRE_NONE };
	h->last = l->id;
	return l;
}

struct message
lease_describe(struct coord *c, const struct leased *l,
	       const struct lease_terms *terms)
{
	struct message m = { .kind = MESSAGE_LEASE, .request = l->id };

	m.lease.term = c->plan.term;
	m.lease.first = l->first;
	m.lease.count = l->count;
	m.lease.server = l->server;
	m.lease.batch = c->o.batches *
		(terms->batch ? terms->batch : c->o.batch);
	m.lease.rate = message_float_bits(terms->learning_rate);
	if (c->o.samplers)
		data_describe(c, terms, l->at.replica, &m);
	call_describe(terms->call, &m);
	return m;
}

struct member *
lease_turn(const struct coord *c)
{
	struct member *best = NULL;
	size_t least = c->o.in_flight;

	for (struct member *m = c->member; m; m = m->next) {
		const struct worker_leases *l = leases_of(c, m);
		size_t has = 0;

		if (!worker_leasable(m))
			continue;
		for (size_t i = 0; i < c->o.in_flight; i++)
			has += l->lease[i].id != 0;
		if (has > least || has == c->o.in_flight ||
		    (l->laggard && has > 0) ||
		    (has == least && best &&
		     l->last >= leases_of(c, best)->last))
			continue;
		best = m;
		least = has;
	}
	return best;
}

bool
lease_has_any(const struct coord *c, const struct member *w)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (lease_of(c, w)[i].id != 0)
			return true;
	return false;
}

bool
lease_held(const struct coord *c)
{
	for (const struct member *w = c->member; w; w = w->next)
		if (worker_answers(w) && lease_has_any(c, w))
			return true;
	return false;
}

/* ---- taking back ---- */

struct leased *
lease_find(const struct coord *c, const struct member *w, uint64_t id)
{
	struct leased *l = lease_of(c, w);

	for (size_t i = 0; i < c->o.in_flight; i++)
		if (id && l[i].id == id)
			return &l[i];
	return NULL;
}

void
lease_call_off(struct coord *c, const struct member *w, struct leased *l)
{
	struct message m = { .kind = MESSAGE_CANCEL, .request = l->id };

	m.cancel.first = l->first;
	m.cancel.count = l->count;
	if (l->id == 0)
		return;
	l->called_off = true;
	outbox_send(c->outbox, w->peer, &m);
}

static void
drop_all(struct coord *c, const struct member *w)
{
	memset(lease_of(c, w), 0, c->o.in_flight * sizeof(struct leased));
}

void
lease_forget(struct coord *c, const struct member *w)
{
	drop_all(c, w);
	leases_of(c, w)->cancelling = false;
}

void
lease_take_back(struct coord *c, struct member *w)
{
	queue_return(c->queue, w);
	rerun_return(c, w);
	drop_all(c, w);
}

uint64_t
lease_blame(struct coord *c, const struct member *w)
{
	const struct leased *l = lease_of(c, w), *first = NULL;

	for (size_t i = 0; i < c->o.in_flight; i++)
		if (l[i].id && !l[i].dropped && l[i].server == WIRE_NONE &&
		    (!first || l[i].id < first->id))
			first = &l[i];
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
		drop_all(c, w);
		/* A replica that is pushed now is not committed, or is. */
		leases_of(c, w)->cancelling = c->o.mode != MODE_SYNC;
	}
	rerun_return(c, NULL);	/* it is not what is given up */
}

bool
lease_cancelling(const struct coord *c)
{
	for (const struct member *w = c->member; w; w = w->next)
		if (leases_of(c, w)->cancelling && worker_answers(w))
			return true;
	return false;
}

/* ---- what came of them ---- */

void
lease_progress(struct coord *c, struct member *w, uint64_t id)
{
	struct leased *l = lease_find(c, w, id);

	if (!l)
		return;
	leases_of(c, w)->begun_ms = c->now_ms;	/* with the next one */
	if (--l->unfinished == 0)
		l->id = 0;
}

void
lease_over(struct coord *c, struct member *w, struct leased *l)
{
	leases_of(c, w)->begun_ms = c->now_ms;
	*l = (struct leased){ 0 };
}

void
lease_count(struct coord *c, struct member *w)
{
	leases_of(c, w)->results++;
}

void
lease_retry(struct coord *c, uint64_t attempts)
{
	c->leases->retried += attempts;
}

void
lease_falls_behind(struct coord *c, struct member *w)
{
	leases_of(c, w)->laggard = true;
}

void
lease_keeps_up(struct coord *c, struct member *w)
{
	leases_of(c, w)->laggard = false;
}

void
lease_answered(struct coord *c, struct member *w)
{
	leases_of(c, w)->cancelling = false;
}

void
lease_exhausted(struct coord *c, struct member *w, const struct message *m)
{
	if (!w->exhausted && m->exhausted.records != WIRE_NONE)
		report_peer(c, "%s has used up its data: %llu records", w->name,
			    (unsigned long long)m->exhausted.records);
	w->exhausted = true;
	w->unreadable = m->exhausted.records == WIRE_NONE;
	if (c->o.mode != MODE_SYNC)	/* where DONE gives each back */
		lease_take_back(c, w);
}

/* ---- what always holds ---- */

static const char *
check_one(const struct coord *c, const struct member *m)
{
	const struct leased *lease = lease_of(c, m);
	bool leased = false;

	for (size_t i = 0; i < c->o.in_flight; i++) {
		const struct leased *l = &lease[i];

		leased = leased || l->id != 0;
		if (l->id > c->leases->given ||
		    (l->id != 0 &&
		     (l->unfinished == 0 || l->unfinished > l->count)))
			return "coord 1: a lease has a number that was issued, "
				"and steps left";
		for (size_t k = 0; l->id != 0 && k < i; k++)
			if (lease[k].id == l->id)
				return "coord 2: no two leases have the same "
					"number";
	}
	if (leased && c->phase < PHASE_RUN)
		return "coord 3: no worker has a lease before servers have the "
			"variables";
	if (leased && c->phase == PHASE_RUN &&
	    (m->gone || m->relieved || !m->ready || m->role != ROLE_WORKER))
		return "coord 4: a lease belongs to a connected worker whose "
			"steps are expected";
	if (m->gone && leases_of(c, m)->cancelling)
		return "coord 6: nothing is expected of a member that is gone";
	return NULL;
}

const char *
lease_check(const struct coord *c)
{
	const char *violation = NULL;

	for (const struct member *m = c->member; m && !violation; m = m->next)
		violation = check_one(c, m);
	return violation;
}
