/*
 * The coordinator of a synchronous run: replicas are leased, results chosen,
 * rounds committed.
 *
 * A step is in the queue as in other runs, but it is leased to the rounds
 * (struct rounds is the "worker"), and workers get its replicas.  The step ends
 * when every server has committed it.
 */
#include "coord/coord_sync.h"

#include "base/mem.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_relays.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/round.h"
#include "coord/scheduler.h"
#include "coord/site_numbers.h"
#include "wire/result.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUND_TERMS	2	/* no more rounds are open at a time */

/*
 * What servers are asked about the first round.
 *
 *	OPEN --commit(), of a round that is sure--> COMMITTING
 *	OPEN --commit()--> CHECKING --sync_checked()--> COMMITTING
 *	CHECKING --sync_checked(), some are missing--> OPEN
 *	CHECKING --reset(), a new term--> OPEN
 *	COMMITTING --sync_committed()--> OPEN
 *	any --go_back()--> OPEN
 */
enum end_state { END_OPEN, END_CHECKING, END_COMMITTING };

struct sync {
	struct rounds *rounds;		/* NULL: it has not begun */
	struct lease_terms terms[ROUND_TERMS];	/* of the newest rounds, a ring;
						   calls are held */
	uint64_t opened;		/* rounds so far */
	enum end_state state;
	struct pack attempts;		/* the chosen attempts in CHECK and
					   COMMIT */
};

/* How many replicas has a round with so many workers? */
static uint64_t
count_replicas(const struct coord_options *o, uint64_t workers)
{
	uint64_t replicas = o->replicas;

	if (replicas == 0)
		replicas = workers > o->backup ? workers - o->backup : 1;
	return replicas < WIRE_REPLICAS ? replicas : WIRE_REPLICAS;
}

void
sync_init(struct coord *c)
{
	c->sync = mem_alloc(1, sizeof(*c->sync));
	if (c->o.mode == MODE_SYNC && (c->o.replicas > 0 || c->o.workers > 0))
		c->replicas = count_replicas(&c->o, c->o.workers);
}

void
sync_release(struct coord *c)
{
	rounds_free(c->sync->rounds);
	for (size_t i = 0; i < ROUND_TERMS; i++)
		call_drop(c->sync->terms[i].call);
	pack_release(&c->sync->attempts);
	free(c->sync);
}

bool
sync_begun(const struct coord *c)
{
	return c->sync->rounds != NULL;
}

/* The site of each worker with an index below replicas, to be freed; "": it has
   none, or is not there. */
static const char **
list_sites(const struct coord *c, size_t replicas)
{
	const char **site = mem_alloc(replicas, sizeof(*site));

	for (size_t k = 0; k < replicas; k++)
		site[k] = "";
	for (const struct member *w = c->member; w; w = w->next)
		if (worker_leasable(w) && w->index < replicas)
			site[w->index] = relays_site(c, w);
	return site;
}

/* Give each worker its replica, by its index and site, so that a run that is
   repeated has the same ones.  If all are of one site, worker:0 has replica
   0. */
static void
assign_replicas(struct coord *c, size_t replicas)
{
	const char **site = list_sites(c, replicas);
	size_t *number = mem_alloc(replicas, sizeof(*number));

	site_numbers(site, replicas, number);
	for (struct member *w = c->member; w; w = w->next)
		if (worker_leasable(w) && w->index < replicas)
			rounds_own(c->sync->rounds, number[w->index], w);
	free(site);
	free(number);
}

static void
begin(struct coord *c)
{
	struct sync *s = c->sync;

	if (s->rounds || c->o.mode != MODE_SYNC)
		return;
	if (c->replicas == 0)
		c->replicas = count_replicas(&c->o, workers_ready(c));
	s->rounds = rounds_new(c->replicas, c->o.backup);
	rounds_number(s->rounds, (c->plan.term - 1) << 32);
	if (codings_residual(c->plan.codings))
		rounds_keep_residuals(s->rounds);
	assign_replicas(c, c->replicas);
}

/* ---- leases ---- */

/*
 * The next step to be leased to the rounds; false: there is none below the
 * limit.  Steps that servers lack, as they went back to a checkpoint, come
 * first.
 */
static bool
next_step(struct coord *c, const struct lease_room *room,
	  struct lease_terms *terms)
{
	struct sync *s = c->sync;
	const struct lease_choice in_order = {
		.stream = WIRE_NONE, .streams = rounds_replicas(s->rounds),
		.ahead = ROUND_TERMS
	};
	const uint64_t next = queue_next(c->queue);
	uint64_t server;	/* all of them */

	if (!rerun_idle(c))
		return rerun_lease(c, s->rounds, terms, &server);
	if (!room->fresh ||
	    (c->o.samplers ? queue_lease_stream(c->queue, s->rounds, 1,
					       room->limit, &in_order, terms) :
	     queue_lease(c->queue, s->rounds, 1, room->limit, terms)) == 0)
		return false;
	return rerun_record(c, next);
}

/* A worker's place for rounds_group(): the relay that it was sent, which may
   add up what its workers push. */
static uint64_t
relay_place(const void *coord, const void *worker)
{
	return relays_told(coord, worker);
}

static bool
open_round(struct coord *c, const struct lease_room *room)
{
	struct sync *s = c->sync;
	struct lease_terms terms;

	if (!rounds_room(s->rounds) || !next_step(c, room, &terms))
		return false;
	rounds_open(s->rounds, terms.first);
	/* The last step of an epoch may have records for fewer replicas. */
	for (size_t k = 0; c->o.samplers && k < rounds_replicas(s->rounds);
	     k++)
		if (k * coord_streams(&c->o) >= terms.places.batches)
			rounds_skip(s->rounds, k);
	rounds_group(s->rounds, relay_place, c);
	call_drop(s->terms[s->opened % ROUND_TERMS].call);
	s->terms[s->opened++ % ROUND_TERMS] = terms;
	call_hold(terms.call);
	return true;
}

static const struct lease_terms *
terms_of(const struct coord *c, uint64_t step)
{
	size_t i = 0;

	while (i + 1 < ROUND_TERMS && c->sync->terms[i].first != step)
		i++;
	return &c->sync->terms[i];
}

/*
 * Lease one replica to a worker that has "has" leases; false: there is none.
 * few: the workers are fewer than the replicas.
 * The worker is leased at most one replica ahead, so that it always has room
 * for one that the others wait for; and it is a backup only if it is at no
 * replica of the round whose turn it is.  A worker that stands still must not
 * have more replicas of a round than there are backups for: so no worker has
 * two of one round, unless workers are fewer than replicas, and a worker that
 * has not answered a CANCEL gets none.
 */
static bool
lease_replica(struct coord *c, struct member *w, size_t has, bool few)
{
	struct sync *s = c->sync;
	const uint64_t turn = rounds_turn(s->rounds);
	size_t leases = 0, ahead = 0;
	bool hangs = false;	/* perhaps: CANCEL is not answered */
	struct message m;
	struct leased *l;
	struct attempt a;
	unsigned level;

	for (size_t i = 0; i < c->o.in_flight; i++) {
		const struct leased *has_one = &lease_of(c, w)[i];

		leases += has_one->id != 0;
		ahead += has_one->id != 0 && has_one->at.step > turn;
		hangs = hangs || (has_one->id != 0 && has_one->called_off);
	}
	if (leases != has || leases == c->o.in_flight || hangs ||
	    !rounds_lease(s->rounds, w, leases == ahead || few,
			  ahead == 0 && c->o.in_flight > 1, leases == ahead,
			  &a))
		return false;

	level = rounds_level(s->rounds, &a, w);
	l = lease_add(c, w, leases == ahead);
	l->unfinished = l->count = 1;
	l->at = a;
	l->first = a.step;
	m = lease_describe(c, l, terms_of(c, a.step));
	m.lease.attempt = a.number;
	m.lease.slot = message_node(a.replica, level);
	m.lease.slots = rounds_replicas(s->rounds);
	l->dropped = !outbox_reaches(c->outbox, w->peer, &m);
	return true;
}

/* ---- residuals ---- */

static bool
has_residuals(const struct coord *c)
{
	return c->sync->rounds && rounds_has_residuals(c->sync->rounds);
}

/* Say that residuals are lost, if any are. */
static void
report_lost(struct coord *c, size_t lost, const char *how)
{
	if (lost > 0)
		report_warning(c, "the residuals of %zu replicas are lost %s: "
			       "of their gradients a part is missing that was "
			       "not sent yet", lost, how);
}

/* A worker that takes no steps any more does not push its residuals. */
static void
lose_residuals(struct coord *c, const struct member *w)
{
	const size_t lost = rounds_lose_residuals(c->sync->rounds, w);
	char with[WIRE_NAME + 8];

	snprintf(with, sizeof(with), "with %s", w->name);
	report_lost(c, lost, with);
}

bool
sync_undecided(const struct coord *c, uint64_t *step, uint64_t *next)
{
	const struct rounds *r = c->sync->rounds;

	if (!r || !rounds_undecided(r))
		return false;
	*step = rounds_step(r);
	*next = rounds_next(r);
	return true;
}

void
sync_decide(struct coord *c, bool last)
{
	rounds_decide(c->sync->rounds, last);
}

static void
send_residual(struct coord *c, struct member *w, struct leased *l)
{
	struct message m = { .kind = MESSAGE_RESIDUAL, .request = l->id };
	struct residual residual;
	enum push_how how;

	if (l->id == 0 || l->told ||
	    !rounds_decided(c->sync->rounds, l->at.step))
		return;
	rounds_push(c->sync->rounds, w, &l->at, &how, &residual);
	l->told = true;
	m.residual.term = c->plan.term;
	m.residual.how = how;
	m.residual.step = residual.step;
	m.residual.attempt = residual.attempt;
	outbox_send(c->outbox, w->peer, &m);
}

void
sync_send_residuals(struct coord *c)
{
	if (!has_residuals(c))
		return;
	for (struct member *w = c->member; w; w = w->next)
		for (size_t i = 0; worker_answers(w) && i < c->o.in_flight;
		     i++)
			send_residual(c, w, &lease_of(c, w)[i]);
}

void
sync_drop_residuals(struct coord *c, uint64_t below)
{
	if (c->sync->rounds)
		report_lost(c, rounds_drop_residuals(c->sync->rounds, below),
			    "as steps behind them were given up");
}

bool
sync_waits_for_holders(const struct coord *c, const struct member *w)
{
	return c->sync->rounds && rounds_wait_for_holders(c->sync->rounds, w);
}

uint64_t
sync_residuals_lost(const struct coord *c)
{
	return c->sync->rounds ? rounds_residuals_lost(c->sync->rounds) : 0;
}

static bool
lease_replicas(struct coord *c, const struct lease_room *room)
{
	/* A server refuses pushes of replicas that it was not told of. */
	bool again = c->sync->rounds && c->replicas_told == c->replicas;
	const bool few = again &&
		workers_training(c) < rounds_replicas(c->sync->rounds);

	for (const struct member *w = again && has_residuals(c) ? c->member :
	     NULL; w; w = w->next)
		if (!w->gone && (!worker_answers(w) || w->exhausted))
			lose_residuals(c, w);
	while (again && open_round(c, room))
		;
	/* Workers with the fewest leases come first, after each lease anew. */
	while (again) {
		again = false;
		for (size_t has = 0; has < c->o.in_flight && !again; has++)
			for (struct member *w = c->member; w; w = w->next)
				if (worker_leasable(w) &&
				    lease_replica(c, w, has, few))
					again = true;
	}
	return false;
}

/* ---- results ---- */

/* Another worker's attempt at this replica was chosen: cancel this worker's. */
static void
call_off(struct coord *c, struct member *w, const struct attempt *a)
{
	struct leased *l = lease_of(c, w);

	for (size_t i = 0; i < c->o.in_flight; i++)
		if (l[i].at.step == a->step && l[i].at.replica == a->replica)
			lease_call_off(c, w, &l[i]);
}

static enum accepted
accept_result(struct coord *c, struct member *w, uint64_t lease,
	      const struct result *r, const float *scores,
	      const unsigned char *positive)
{
	struct sync *s = c->sync;
	struct leased *l = lease_find(c, w, lease);
	struct attempt a;
	void *overtaken;

	if (!l || !s->rounds)
		return ACCEPTED_NOT;
	a = l->at;
	lease_over(c, w, l);
	if (r->voided || r->step != a.step) {
		rounds_drop(s->rounds, w, &a);
		return ACCEPTED_NOT;
	}
	if (!rounds_choose(s->rounds, w, &a, r, scores, positive,
			   &overtaken))
		return ACCEPTED_NOT;
	if (overtaken)
		call_off(c, overtaken, &a);
	return ACCEPTED_PART;
}

static void
release_lease(struct coord *c, struct member *w, uint64_t lease)
{
	struct leased *l = lease_find(c, w, lease);

	if (!l || !c->sync->rounds)
		return;
	rounds_drop(c->sync->rounds, w, &l->at);
	*l = (struct leased){ 0 };
}

static bool
counts(struct coord *c, struct member *w, uint64_t lease)
{
	const struct leased *l = lease_find(c, w, lease);

	if (l && c->sync->rounds && rounds_live(c->sync->rounds, w, &l->at))
		return true;
	release_lease(c, w, lease);
	return false;
}

/* ---- commits ---- */

/* Send CHECK or COMMIT, with the chosen attempts of the first round. */
static void
ask_servers(struct coord *c, enum message_kind kind)
{
	struct sync *s = c->sync;
	struct message m = { .kind = kind, .frames = 1 };
	const size_t replicas = rounds_replicas(s->rounds);

	pack_reset(&s->attempts);
	pack_array(&s->attempts, replicas);
	for (size_t k = 0; k < replicas; k++)
		pack_uint(&s->attempts, rounds_chosen(s->rounds, k));
	m.commit.run = plan_run(&c->plan);
	m.commit.term = c->plan.term;
	m.commit.step = rounds_step(s->rounds);
	m.frame[0] = (struct frame){ s->attempts.data, s->attempts.size,
				     NULL };
	s->state = kind == MESSAGE_COMMIT ? END_COMMITTING : END_CHECKING;
	if (kind == MESSAGE_COMMIT)
		report_lost(c, rounds_settle(s->rounds), "with their workers");
	fleet_ask(c->fleet, &m);
}

static void
commit(struct coord *c)
{
	struct sync *s = c->sync;

	if (s->rounds && s->state == END_OPEN && rounds_whole(s->rounds))
		ask_servers(c, rounds_sure(s->rounds) ? MESSAGE_COMMIT :
			    MESSAGE_CHECK);
}

/* No server has applied a round that is checked: what one of them does not have
   may still be done once more, and come apart to all. */
bool
sync_checked(struct coord *c, const struct ask *ask)
{
	struct sync *s = c->sync;
	const bool again = ranges_total(&ask->missing) > 0;

	for (size_t k = 0; k < rounds_replicas(s->rounds); k++)
		if (ranges_has(&ask->missing, k))
			rounds_reopen(s->rounds, k);
	s->state = END_OPEN;
	if (!again)
		ask_servers(c, MESSAGE_COMMIT);
	return again;
}

static bool
committing(const struct coord *c)
{
	return c->sync->state != END_OPEN;
}

uint64_t
sync_step(const struct coord *c)
{
	return rounds_step(c->sync->rounds);
}

void
sync_result(const struct coord *c, struct result *r, const float **scores,
	    const unsigned char **positive)
{
	rounds_result(c->sync->rounds, r, scores, positive);
}

void
sync_committed(struct coord *c)
{
	rounds_close(c->sync->rounds);
	c->sync->state = END_OPEN;
}

static bool
running(const struct coord *c)
{
	const struct sync *s = c->sync;

	return s->rounds && (committing(c) || rounds_whole(s->rounds) ||
			     rounds_running(s->rounds) > 0);
}

static void
reset(struct coord *c)
{
	struct sync *s = c->sync;

	if (!s->rounds)
		return;
	if (s->state == END_CHECKING)
		s->state = END_OPEN;
	rounds_reset(s->rounds, s->state == END_OPEN);
	queue_return(c->queue, s->rounds);
}

/*
 * A new term began while a round was being committed.  Some servers may have
 * applied it, and would answer pulls with the values after it: so the others
 * must apply the same round.  Its step was taken back with all others, and is
 * leased to the rounds again.
 */
static bool
resume(struct coord *c)
{
	struct sync *s = c->sync;
	struct lease_terms terms;
	uint64_t server;

	if (!s->rounds)
		return false;
	rounds_number(s->rounds, (c->plan.term - 1) << 32);
	if (s->state != END_COMMITTING)
		return false;
	if (!rerun_idle(c))
		rerun_lease(c, s->rounds, &terms, &server);
	else
		queue_lease(c->queue, s->rounds, 1, WIRE_NONE, &terms);
	ask_servers(c, MESSAGE_COMMIT);
	return true;
}

static void
go_back(struct coord *c)
{
	if (c->sync->rounds) {
		rounds_reset(c->sync->rounds, true);
		rounds_reset_residuals(c->sync->rounds);
	}
	c->sync->state = END_OPEN;
}

static void
give_up(struct coord *c)
{
	if (c->sync->rounds)
		rounds_reset(c->sync->rounds, true);
}

static void
lose(struct coord *c, const struct member *w)
{
	if (!c->sync->rounds)
		return;
	rounds_lose(c->sync->rounds, w);
	if (w->gone)
		lose_residuals(c, w);
}

/* ---- figures ---- */

size_t
sync_replicas(const struct coord *c)
{
	return c->sync->rounds ? rounds_replicas(c->sync->rounds) : 0;
}

static uint64_t
retried(const struct coord *c)
{
	return c->sync->rounds ? rounds_retried(c->sync->rounds) : 0;
}

static bool
busy(const struct coord *c)
{
	return committing(c) || (c->sync->rounds &&
				 rounds_whole(c->sync->rounds));
}

static bool
waits(const struct coord *c, const struct leased *l)
{
	return c->sync->rounds &&
		l->at.step != rounds_turn(c->sync->rounds);
}

const struct scheduler scheduler_sync = {
	.begin = begin,
	.lease = lease_replicas,
	.accept = accept_result,
	.release = release_lease,
	.counts = counts,
	.lose = lose,
	.waits = waits,
	.rounds = sync_begun,
	.commit = commit,
	.committing = committing,
	.running = running,
	.busy = busy,
	.give_up = give_up,
	.reset = reset,
	.resume = resume,
	.go_back = go_back,
	.retried = retried
};

/* ---- what always holds ---- */

const char *
sync_check(const struct coord *c)
{
	const struct sync *s = c->sync;

	if (committing(c) && !s->rounds)
		return "coord 25: a commit belongs to a round";
	if (c->phase == PHASE_RUN && committing(c) &&
	    !fleet_asking(c->fleet, s->state == END_CHECKING ? MESSAGE_CHECK :
			  MESSAGE_COMMIT))
		return "coord 28: servers are asked by CHECK or COMMIT while a "
			"round is committed";
	if (s->state == END_COMMITTING && !rounds_whole(s->rounds))
		return "coord 43: a committed round has a result of each "
			"replica";
	if (c->phase == PHASE_RUN && s->rounds &&
	    rounds_running(s->rounds) > 0 && c->replicas_told != c->replicas)
		return "coord 45: servers know how many replicas a round has "
			"before one is leased";
	return s->rounds ? rounds_check(s->rounds) : NULL;
}

bool
sync_is(const struct coord *c, const void *worker)
{
	return worker && worker == c->sync->rounds;
}
