/*
 * The coordinator of a synchronous run: slots are leased, results chosen,
 * rounds committed.
 *
 * A step is the queue's as ever, but leased to the rounds; workers get its
 * slots.  It ends when every server has committed it.
 */
#include "coord/coord_inside.h"

#include "base/mem.h"

#include <string.h>

/* Enough workers are there: how many slots has a round? */
void
sync_begin(struct coord *c)
{
	uint64_t slots = c->o.replicas;

	if (c->rounds || c->o.mode != MODE_SYNC)
		return;
	if (slots == 0) {
		const uint64_t workers = c->o.workers > 0 ? c->o.workers :
			workers_ready(c);

		slots = workers > c->o.backup ? workers - c->o.backup : 1;
	}
	if (slots > WIRE_SLOTS)
		slots = WIRE_SLOTS;
	c->rounds = rounds_new(slots, c->o.backup);
	rounds_number(c->rounds, (c->plan.term - 1) << 32);
	/* In every run alike: worker:0 has slot 0. */
	for (struct member *w = c->member; w; w = w->next)
		if (worker_leasable(w) && w->index < slots)
			rounds_own(c->rounds, w->index, w);
}

/* ---- leases ---- */

/*
 * The next step, if there is one and it is below the limit.  Those that the
 * servers, back at a cut, lack come before all others.
 */
static bool
next_step(struct coord *c, uint64_t limit, struct lease_terms *terms)
{
	const struct lease_choice in_order = {
		.stream = WIRE_NONE, .streams = rounds_slots(c->rounds),
		.ahead = ROUND_TERMS
	};
	const uint64_t next = queue_next(c->queue);
	uint64_t server;	/* all of them */

	if (!rerun_idle(c))
		return rerun_lease(c, c->rounds, terms, &server);
	if (c->cancelling ||
	    (c->o.ledger ? queue_lease_stream(c->queue, c->rounds, 1, limit,
					      &in_order, terms) :
	     queue_lease(c->queue, c->rounds, 1, limit, terms)) == 0)
		return false;
	rerun_record(c, next);
	return c->phase == PHASE_RUN;	/* or it cannot be kept */
}

static bool
open_round(struct coord *c, uint64_t limit)
{
	struct lease_terms terms;
	struct slice none;

	if (!rounds_room(c->rounds) || !next_step(c, limit, &terms))
		return false;
	rounds_open(c->rounds, terms.first);
	/* The last step of an epoch may have records for fewer slots. */
	for (size_t k = 0; c->o.ledger && k < rounds_slots(c->rounds); k++)
		if (!ledger_slice(c->o.ledger, terms.place, k, &none))
			rounds_skip(c->rounds, k);
	c->terms[c->opened++ % ROUND_TERMS] = terms;
	return true;
}

static const struct lease_terms *
terms_of(const struct coord *c, uint64_t step)
{
	size_t i = 0;

	while (i + 1 < ROUND_TERMS && c->terms[i].first != step)
		i++;
	return &c->terms[i];
}

/*
 * One slot, to a worker with this many leases.  It is given no more than one
 * ahead, so that there is always room for what the others wait for; and none
 * twice while it is busy with what may be late itself.
 */
static bool
lease_slot(struct coord *c, struct member *w, size_t has)
{
	const uint64_t turn = rounds_turn(c->rounds);
	struct message m = { .kind = MESSAGE_LEASE };
	size_t leases = 0, ahead = 0;
	struct leased *free_one = NULL;
	struct attempt a;

	for (size_t i = 0; i < c->o.in_flight; i++) {
		struct leased *l = &w->lease[i];

		leases += l->id != 0;
		ahead += l->id != 0 && l->at.step > turn;
		free_one = l->id == 0 ? l : free_one;
	}
	if (leases != has || !free_one ||
	    !rounds_lease(c->rounds, w, ahead == 0 && c->o.in_flight > 1,
			  leases == ahead, &a))
		return false;

	const struct lease_terms *terms = terms_of(c, a.step);

	if (leases == ahead)
		w->begun_ms = c->now_ms;
	*free_one = (struct leased){ .id = ++c->leases, .left = 1, .at = a,
				     .first = a.step, .count = 1,
				     .server = WIRE_NONE };
	w->leased = m.request = c->leases;
	m.lease.term = c->plan.term;
	m.lease.first = a.step;
	m.lease.count = 1;
	m.lease.attempt = a.number;
	m.lease.batch = terms->batch ? terms->batch : c->o.batch;
	m.lease.rate = message_float_bits(terms->learning_rate);
	m.lease.slot = a.slot;
	m.lease.slots = rounds_slots(c->rounds);
	m.lease.server = WIRE_NONE;
	if (c->o.ledger)
		data_describe(c, terms, a.slot, &m);
	if (outbox_send(c->outbox, w->peer, &m) < 0)
		workers_lost(c, w);
	return true;
}

void
sync_lease(struct coord *c, uint64_t limit)
{
	bool again = c->rounds != NULL;

	while (c->rounds && open_round(c, limit))
		;
	/* Those with the fewest leases come first, each time. */
	while (again) {
		again = false;
		for (size_t has = 0; has < c->o.in_flight && !again; has++)
			for (struct member *w = c->member; w; w = w->next)
				if (worker_leasable(w) &&
				    lease_slot(c, w, has))
					again = true;
	}
}

/* ---- results ---- */

/* Somebody else was first. */
static void
call_off(struct coord *c, struct member *w, const struct attempt *a)
{
	for (size_t i = 0; i < c->o.in_flight; i++)
		if (w->lease[i].at.step == a->step &&
		    w->lease[i].at.slot == a->slot)
			lease_call_off(c, w, &w->lease[i]);
}

void
sync_take(struct coord *c, struct member *w, uint64_t lease,
	  const struct result *r, const float *scores,
	  const unsigned char *positive)
{
	struct leased *l = lease_find(c, w, lease);
	struct attempt a;
	void *overtaken;

	if (!l || !c->rounds)
		return;
	a = l->at;
	*l = (struct leased){ 0 };
	w->begun_ms = c->now_ms;
	if (r->voided || r->step != a.step) {
		rounds_drop(c->rounds, w, &a);
	} else if (rounds_choose(c->rounds, w, &a, r, scores, positive,
				 &overtaken)) {
		w->steps++;
		watch_note(c, r->microseconds);
		if (overtaken)
			call_off(c, overtaken, &a);
	}
	sync_commit(c);
}

void
sync_given_back(struct coord *c, struct member *w, uint64_t lease)
{
	struct leased *l = lease_find(c, w, lease);

	if (!l || !c->rounds)
		return;
	rounds_drop(c->rounds, w, &l->at);
	*l = (struct leased){ 0 };
}

bool
sync_counts(struct coord *c, struct member *w, uint64_t lease)
{
	const struct leased *l = lease_find(c, w, lease);

	if (l && c->rounds && rounds_live(c->rounds, w, &l->at))
		return true;
	sync_given_back(c, w, lease);
	return false;
}

/* ---- commits ---- */

static void
ask_commit(struct coord *c)
{
	struct message m = { .kind = MESSAGE_COMMIT, .frames = 1 };
	const size_t slots = rounds_slots(c->rounds);

	pack_reset(&c->attempts);
	pack_array(&c->attempts, slots);
	for (size_t k = 0; k < slots; k++)
		pack_uint(&c->attempts, rounds_chosen(c->rounds, k));
	m.commit.run = plan_run(&c->plan);
	m.commit.term = c->plan.term;
	m.commit.step = rounds_step(c->rounds);
	m.frame[0] = (struct frame){ c->attempts.data, c->attempts.size,
				     NULL };
	c->committing = true;
	fleet_ask(c->fleet, &m);
}

void
sync_commit(struct coord *c)
{
	if (c->rounds && !c->committing && !c->cancelling &&
	    rounds_whole(c->rounds))
		ask_commit(c);
}

/* The result of a step, when it is first done. */
static void
take_round(struct coord *c, const struct step *step, uint64_t now)
{
	const unsigned char *positive;
	const float *scores;
	struct result r;

	rounds_result(c->rounds, &r, &scores, &positive);
	report_step(c, step, &r, NULL, scores, positive);
	totals_add(&c->join, c, &r, scores, positive);
	totals_add(&c->all, c, &r, NULL, NULL);
	data_done(c, step, &r, scores, positive, now);
	cut_count(c, step, &r);
	journal_done(c, r.step);
	queue_end(c->queue, r.step);
}

void
sync_committed(struct coord *c, uint64_t now)
{
	const uint64_t number = rounds_step(c->rounds);
	const struct step *step = queue_step(c->queue, number);

	if (step)
		take_round(c, step, now);
	else
		rerun_ended(c, 0, number);
	rounds_close(c->rounds);
	c->committing = false;
	if (c->cancelling)
		void_begin(c);		/* which waited for this */
	else
		sync_commit(c);
}

bool
sync_running(const struct coord *c)
{
	return c->committing || rounds_whole(c->rounds) ||
		rounds_running(c->rounds) > 0;
}

void
sync_reset(struct coord *c)
{
	if (!c->rounds)
		return;
	rounds_reset(c->rounds, !c->committing);
	queue_return(c->queue, c->rounds);
}

/*
 * Some servers may have applied a round, and would give away what comes after
 * it: so the rest apply the same.  Its step was taken back with all others.
 */
bool
sync_go_on(struct coord *c)
{
	struct lease_terms terms;
	uint64_t server;

	if (!c->rounds)
		return false;
	rounds_number(c->rounds, (c->plan.term - 1) << 32);
	if (!c->committing)
		return false;
	if (!rerun_idle(c))
		rerun_lease(c, c->rounds, &terms, &server);
	else
		queue_lease(c->queue, c->rounds, 1, WIRE_NONE, &terms);
	ask_commit(c);
	return true;
}

void
sync_go_back(struct coord *c)
{
	if (c->rounds)
		rounds_reset(c->rounds, true);
	c->committing = false;
}
