#include "coord/round.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define OPEN		2	/* rounds that may be open at a time */
#define CANDIDATES	2	/* attempts at a replica that may be chosen */

struct replica {
	uint64_t attempts;		/* so far */
	struct candidate {
		uint64_t number;	/* 0: none */
		void *worker;
		bool spare;		/* it is a backup */
		enum push_how how;	/* it is pushed */
	} live[CANDIDATES];
	bool done;
	uint64_t chosen;		/* the chosen attempt's number; 0: the
					   replica was skipped */
	enum push_how how;		/* it was pushed, */
	void *worker;			/* by this one; NULL: it is lost */
	unsigned level;			/* of the node that may be added up, */
	const void *owner;		/* if this worker does the replica */
	struct result result;		/* of the chosen attempt */
	float *scores;
	unsigned char *positive;
	struct text json;
};

/* How the replicas of a round are pushed, in a run with residuals.
 *
 *	UNDECIDED --rounds_decide()--> KEEPS, FLUSHES
 */
enum fate { FATE_UNDECIDED, FATE_KEEPS, FATE_FLUSHES };

struct round {
	uint64_t step;
	enum fate fate;
	struct replica *replica;
	size_t chosen;			/* replicas that are done */
	bool summed;			/* a relay may have added some up */
};

struct rounds {
	size_t replicas, backups;
	uint64_t base;			/* attempts of this term have numbers
					   above it */
	uint64_t retried;
	struct round round[OPEN];	/* the first "open" of them are open */
	size_t open;
	bool settled;			/* servers have the first round */
	void **owner;			/* of each replica, or NULL */
	struct holders *holders;	/* NULL: workers keep no residuals */
	uint64_t residuals_lost;
	float *scores;
	unsigned char *positive;
	struct text json;
};

struct rounds *
rounds_new(size_t replicas, size_t backups)
{
	struct rounds *r = mem_alloc(1, sizeof(*r));

	r->replicas = replicas;
	r->backups = backups;
	r->owner = mem_alloc(replicas, sizeof(*r->owner));
	for (size_t i = 0; i < OPEN; i++)
		r->round[i].replica =
			mem_alloc(replicas, sizeof(struct replica));
	return r;
}

static void
forget_result(struct replica *s)
{
	free(s->scores);
	free(s->positive);
	text_release(&s->json);
	*s = (struct replica){ .attempts = s->attempts, .level = s->level,
			       .owner = s->owner };
}

static void
empty(struct rounds *r, struct round *round)
{
	for (size_t k = 0; k < r->replicas; k++) {
		forget_result(&round->replica[k]);
		round->replica[k] = (struct replica){ 0 };
	}
	round->chosen = 0;
	round->summed = false;
	round->fate = FATE_UNDECIDED;
}

void
rounds_free(struct rounds *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < OPEN; i++) {
		empty(r, &r->round[i]);
		free(r->round[i].replica);
	}
	free(r->owner);
	holders_free(r->holders);
	free(r->scores);
	free(r->positive);
	text_release(&r->json);
	free(r);
}

void
rounds_keep_residuals(struct rounds *r)
{
	r->holders = holders_new(r->replicas);
}

size_t
rounds_replicas(const struct rounds *r)
{
	return r->replicas;
}

void
rounds_own(struct rounds *r, size_t replica, void *worker)
{
	r->owner[replica] = worker;
}

bool
rounds_room(const struct rounds *r)
{
	return r->open < OPEN;
}

void
rounds_open(struct rounds *r, uint64_t step)
{
	r->round[r->open++].step = step;
}

void
rounds_skip(struct rounds *r, size_t replica)
{
	struct round *round = &r->round[r->open - 1];

	round->replica[replica].done = true;
	round->chosen++;
}

/* ---- what may be added up ---- */

static int
compare_owners(const void *a, const void *b)
{
	const void *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
}

/* The owners that own only one replica, sorted by address; returns how many. */
static size_t
list_owners(const struct rounds *r, const void **owner)
{
	size_t all = 0, count = 0;

	for (size_t k = 0; k < r->replicas; k++)
		if (r->owner[k])
			owner[all++] = r->owner[k];
	qsort(owner, all, sizeof(*owner), compare_owners);
	for (size_t k = 0; k < all; k++)
		if ((k == 0 || owner[k - 1] != owner[k]) &&
		    (k + 1 == all || owner[k + 1] != owner[k]))
			owner[count++] = owner[k];
	return count;
}

/* Make a node of this level, if both its halves are whole nodes and at one
   place.  first: its first replica. */
static void
join_nodes(struct round *round, const uint64_t *place, size_t first,
	   unsigned level)
{
	const size_t half = (size_t)1 << (level - 1);
	struct replica *s = &round->replica[first];

	if (place[first] == 0 || place[first] != place[first + half] ||
	    s[0].level < level - 1 || s[half].level < level - 1)
		return;
	for (size_t k = 0; k < 2 * half; k++)
		s[k].level = level;
}

void
rounds_group(struct rounds *r, rounds_place *of, const void *self)
{
	struct round *round = &r->round[r->open - 1];
	const void **owner = mem_alloc(r->replicas, sizeof(*owner));
	uint64_t *place = mem_alloc(r->replicas, sizeof(*place));
	const size_t owners = list_owners(r, owner);

	for (size_t k = 0; k < r->replicas; k++) {
		const void *o = r->owner[k];

		round->replica[k].owner = o;
		if (o && !round->replica[k].done &&
		    bsearch(&o, owner, owners, sizeof(*owner), compare_owners))
			place[k] = of(self, o);
	}
	for (unsigned level = 1; (size_t)1 << level <= r->replicas; level++)
		for (size_t k = 0; k + ((size_t)1 << level) <= r->replicas;
		     k += (size_t)1 << level)
			join_nodes(round, place, k, level);
	free(owner);
	free(place);
}

/* ---- who does what ---- */

/* Is this the number of the first attempt of this term at a replica? */
static bool
is_first(const struct rounds *r, uint64_t number)
{
	return number == r->base + 1;
}

bool
rounds_sure(const struct rounds *r)
{
	const struct round *round = &r->round[0];

	for (size_t k = 0; k < r->replicas && round->summed; k++)
		if (round->replica[k].chosen > 0 &&
		    !is_first(r, round->replica[k].chosen))
			return false;
	return true;
}

/* The chosen pushes count: what they have left is what is kept.  Returns how
   many residuals are lost by that. */
static size_t
note_residuals(struct rounds *r, const struct round *round)
{
	size_t lost = 0;

	for (size_t k = 0; k < r->replicas; k++) {
		const struct replica *s = &round->replica[k];

		if (s->chosen > 0)
			lost += holders_note(r->holders, k, s->worker, s->how,
					     (struct residual){ round->step,
								s->chosen });
	}
	r->residuals_lost += lost;
	if (round->fate == FATE_FLUSHES)
		lost += rounds_drop_residuals(r, WIRE_NONE);
	return lost;
}

size_t
rounds_settle(struct rounds *r)
{
	const size_t lost = r->holders && !r->settled ?
		note_residuals(r, &r->round[0]) : 0;

	r->settled = true;
	return lost;
}

/* The round whose turn it is, or NULL: the first that lacks a replica, or of
   which it is not certain that servers have everything. */
static struct round *
turn(const struct rounds *r)
{
	for (size_t i = 0; i < r->open; i++)
		if (r->round[i].chosen < r->replicas ||
		    (i == 0 && !r->settled && !rounds_sure(r)))
			return (struct round *)(uintptr_t)&r->round[i];
	return NULL;
}

uint64_t
rounds_turn(const struct rounds *r)
{
	const struct round *round = turn(r);

	return round ? round->step : WIRE_NONE;
}

static size_t
live(const struct replica *s)
{
	size_t count = 0;

	for (size_t i = 0; i < CANDIDATES; i++)
		count += s->live[i].number != 0;
	return count;
}

static bool
is_free(const struct replica *s)
{
	return !s->done && live(s) == 0;
}

/* Has another worker the residual of this replica? */
static bool
is_held(const struct rounds *r, size_t k, const void *worker)
{
	return r->holders && holders_other(r->holders, k, worker);
}

bool
rounds_wait_for_holders(const struct rounds *r, const void *worker)
{
	bool waits = false;

	for (size_t i = 0; i < r->open; i++)
		for (size_t k = 0; k < r->replicas; k++) {
			if (!is_free(&r->round[i].replica[k]))
				continue;
			if (!is_held(r, k, worker))
				return false;
			waits = true;
		}
	return waits;
}

/*
 * A replica that nobody is at: the worker's own, else one that nobody owns,
 * else, if any is set, any.  Returns the number of replicas if there is none.
 */
static size_t
find_slot(const struct rounds *r, const struct round *round,
	  const void *worker, bool any)
{
	size_t best = r->replicas;

	for (size_t k = 0; k < r->replicas; k++) {
		if (!is_free(&round->replica[k]) || is_held(r, k, worker))
			continue;
		if (r->owner[k] == worker)
			return k;
		if (best == r->replicas ? any || !r->owner[k] :
		    r->owner[best] && !r->owner[k])
			best = k;
	}
	return best;
}

/* A replica that one other worker is at, when no more replicas are open than
   there are backups; the number of replicas if there is none. */
static size_t
find_late(const struct rounds *r, const struct round *round,
	  const void *worker)
{
	for (size_t k = 0; k < r->replicas &&
	     r->replicas - round->chosen <= r->backups; k++) {
		const struct replica *s = &round->replica[k];

		if (!s->done && live(s) == 1 && s->live[0].worker != worker &&
		    s->live[1].worker != worker &&
		    (round->fate == FATE_KEEPS || !is_held(r, k, worker)))
			return k;
	}
	return r->replicas;
}

/* Begin an attempt.  Only this attempt and the one before it may be chosen from
   now on. */
static struct attempt
begin(struct rounds *r, struct round *round, size_t k, void *worker,
      bool spare)
{
	struct replica *s = &round->replica[k];
	struct candidate *at = &s->live[0];

	if (s->attempts < r->base)
		s->attempts = r->base;
	s->attempts++;
	for (size_t i = 0; i < CANDIDATES; i++) {
		if (s->live[i].number + 1 < s->attempts)
			s->live[i] = (struct candidate){ 0 };
		if (s->live[i].number == 0)
			at = &s->live[i];
	}
	*at = (struct candidate){ .number = s->attempts, .worker = worker,
				  .spare = spare };
	if (live(s) == 1) {
		r->owner[k] = worker;
		r->retried += s->attempts > r->base + 1;
	}
	return (struct attempt){ round->step, k, s->attempts };
}

bool
rounds_lease(struct rounds *r, void *worker, bool more, bool ahead,
	     bool spare, struct attempt *a)
{
	struct round *round = turn(r);
	size_t k = r->replicas;

	if (round && more)
		k = find_slot(r, round, worker, true);
	if (round && k == r->replicas && ahead &&
	    round + 1 < r->round + r->open) {
		k = find_slot(r, round + 1, worker, false);
		if (k < r->replicas)
			round++;
	}
	/* A replica given out ahead waits for the round before, and so is not
	   late: backups are only for the first round. */
	spare = round == r->round && k == r->replicas && spare;
	if (spare)
		k = find_late(r, round, worker);
	if (k == r->replicas)
		return false;
	*a = begin(r, round, k, worker, spare);
	return true;
}

/* The replica of an attempt, if its round is open. */
static struct replica *
find(const struct rounds *r, const struct attempt *a, struct round **round)
{
	for (size_t i = 0; i < r->open; i++)
		if (r->round[i].step == a->step && a->replica < r->replicas) {
			*round = (struct round *)(uintptr_t)&r->round[i];
			return &r->round[i].replica[a->replica];
		}
	return NULL;
}

unsigned
rounds_level(struct rounds *r, const struct attempt *a, const void *worker)
{
	struct round *round;
	const struct replica *s = find(r, a, &round);

	if (!s || s->level == 0 || s->owner != worker ||
	    !is_first(r, a->number))
		return 0;
	round->summed = true;
	return s->level;
}

uint64_t
rounds_retried(const struct rounds *r)
{
	return r->retried;
}

static struct candidate *
candidate(struct replica *s, const void *worker, const struct attempt *a)
{
	for (size_t i = 0; s && i < CANDIDATES; i++)
		if (s->live[i].number == a->number && a->number > 0 &&
		    s->live[i].worker == worker)
			return &s->live[i];
	return NULL;
}

bool
rounds_live(const struct rounds *r, const void *worker,
	    const struct attempt *a)
{
	struct round *round;

	return candidate(find(r, a, &round), worker, a) != NULL;
}

bool
rounds_choose(struct rounds *r, void *worker, const struct attempt *a,
	      const struct result *result, const float *scores,
	      const unsigned char *positive, void **overtaken)
{
	struct round *round;
	struct replica *s = find(r, a, &round);

	*overtaken = NULL;
	if (!candidate(s, worker, a))
		return false;
	for (size_t i = 0; i < CANDIDATES; i++) {
		if (s->live[i].number == a->number)
			s->how = s->live[i].how;
		else
			*overtaken = s->live[i].number ? s->live[i].worker :
				*overtaken;
		s->live[i] = (struct candidate){ 0 };
	}
	s->done = true;
	s->worker = worker;
	s->chosen = a->number;
	s->result = *result;
	s->result.mixed = result->mixed && s->attempts > 1;
	text_add_bytes(&s->json, result->json.data, result->json.size);
	s->result.json = (struct frame){ 0 };
	if (result->scores > 0) {
		s->scores = mem_copy(scores,
				     result->scores * sizeof(*scores));
		s->positive = mem_copy(positive, result->scores);
	}
	if (!is_held(r, a->replica, worker))
		r->owner[a->replica] = worker;
	round->chosen++;
	return true;
}

void
rounds_drop(struct rounds *r, const void *worker, const struct attempt *a)
{
	struct round *round;
	struct candidate *c = candidate(find(r, a, &round), worker, a);

	if (c)
		*c = (struct candidate){ 0 };
}

void
rounds_lose(struct rounds *r, const void *worker)
{
	for (size_t k = 0; k < r->replicas; k++) {
		if (r->owner[k] == worker)
			r->owner[k] = NULL;
		for (size_t i = 0; i < r->open; i++)
			for (size_t c = 0; c < CANDIDATES; c++) {
				struct candidate *at =
					&r->round[i].replica[k].live[c];

				if (at->worker == worker)
					*at = (struct candidate){ 0 };
			}
	}
}

size_t
rounds_running(const struct rounds *r)
{
	const struct round *round = turn(r);
	size_t count = 0;

	for (size_t k = 0; round && k < r->replicas; k++)
		count += live(&round->replica[k]);
	return count;
}

/* ---- a round that is whole ---- */

bool
rounds_whole(const struct rounds *r)
{
	return r->open > 0 && r->round[0].chosen == r->replicas;
}

uint64_t
rounds_step(const struct rounds *r)
{
	return r->round[0].step;
}

uint64_t
rounds_chosen(const struct rounds *r, size_t replica)
{
	return r->round[0].replica[replica].chosen;
}

void
rounds_reopen(struct rounds *r, size_t replica)
{
	struct round *round = &r->round[0];

	if (round->replica[replica].chosen == 0)
		return;
	forget_result(&round->replica[replica]);
	round->chosen--;
	r->settled = false;
}

static void
add_result(struct result *to, const struct result *r)
{
	to->examples += r->examples;
	to->loss += r->loss;
	to->scores += r->scores;
	to->mixed = to->mixed || r->mixed;
	traffic_add(&to->traffic, &r->traffic);
	to->kept += r->kept;
	if (r->staleness > to->staleness)
		to->staleness = r->staleness;
	if (r->microseconds > to->microseconds)
		to->microseconds = r->microseconds;
	to->metrics = r->metrics;
	for (size_t i = 0; i < r->metrics; i++)
		for (size_t j = 0; j < METRIC_SUMS; j++)
			to->sum[i][j] += r->sum[i][j];
}

/* A JSON list of what the replicas' step programs returned, null for those that
   returned nothing; empty if none returned anything. */
static struct frame
list_json(struct rounds *r, const struct round *round)
{
	struct text *out = &r->json;
	bool any = false;

	text_reset(out);
	for (size_t k = 0; k < r->replicas; k++) {
		const struct text *one = &round->replica[k].json;

		any = any || one->size > 0;
		text_add(out, "%c", k ? ',' : '[');
		text_add_bytes(out, one->size > 0 ? one->data : "null",
			       one->size > 0 ? one->size : strlen("null"));
	}
	text_add(out, "]");
	return any ? (struct frame){ out->data, out->size, NULL } :
		(struct frame){ 0 };
}

void
rounds_result(struct rounds *r, struct result *result, const float **scores,
	      const unsigned char **positive)
{
	const struct round *round = &r->round[0];
	size_t at = 0;

	*result = (struct result){ .step = round->step, .attempt = 1 };
	for (size_t k = 0; k < r->replicas; k++)
		if (round->replica[k].chosen)
			add_result(result, &round->replica[k].result);
	result->json = list_json(r, round);
	r->scores = mem_resize(r->scores, result->scores + 1,
			       sizeof(*r->scores));
	r->positive = mem_resize(r->positive, result->scores + 1, 1);
	for (size_t k = 0; k < r->replicas; k++) {
		const struct replica *s = &round->replica[k];

		if (s->result.scores == 0)
			continue;
		memcpy(r->scores + at, s->scores,
		       s->result.scores * sizeof(*r->scores));
		memcpy(r->positive + at, s->positive, s->result.scores);
		at += s->result.scores;
	}
	*scores = r->scores;
	*positive = r->positive;
}

void
rounds_close(struct rounds *r)
{
	struct round first;

	r->settled = false;
	empty(r, &r->round[0]);
	first = r->round[0];
	r->open--;
	for (size_t i = 0; i + 1 < OPEN; i++)
		r->round[i] = r->round[i + 1];
	r->round[OPEN - 1] = first;
}

void
rounds_reset(struct rounds *r, bool first)
{
	const size_t kept = !first && r->open > 0;

	r->settled = r->settled && kept > 0;
	for (size_t i = kept; i < r->open; i++)
		empty(r, &r->round[i]);
	r->open = kept;
}

void
rounds_number(struct rounds *r, uint64_t base)
{
	r->base = base;
}

/* ---- residuals ---- */

bool
rounds_has_residuals(const struct rounds *r)
{
	return r->holders;
}

bool
rounds_undecided(const struct rounds *r)
{
	return r->holders && r->open > 0 &&
		r->round[0].fate == FATE_UNDECIDED;
}

uint64_t
rounds_next(const struct rounds *r)
{
	return r->open > 1 ? r->round[1].step : WIRE_NONE;
}

void
rounds_decide(struct rounds *r, bool last)
{
	r->round[0].fate = last ? FATE_FLUSHES : FATE_KEEPS;
}

/* Is there no work for the replica in the round behind the first?  Nobody
   would push its residual there. */
static bool
is_skipped_next(const struct rounds *r, size_t k)
{
	const struct replica *s = &r->round[1].replica[k];

	return s->done && s->chosen == 0;
}

bool
rounds_decided(const struct rounds *r, uint64_t step)
{
	return step < r->round[0].step ||
		(step == r->round[0].step && !rounds_undecided(r));
}

void
rounds_push(struct rounds *r, const void *worker, const struct attempt *a,
	    enum push_how *how, struct residual *residual)
{
	struct round *round;
	struct candidate *c = candidate(find(r, a, &round), worker, a);

	*residual = holders_residual(r->holders, a->replica, worker);
	/* Another worker than a backup may have a lease of the replica in the
	   next round already, and is to become its holder. */
	*how = is_held(r, a->replica, worker) ||
		(c && c->spare && residual->attempt == 0) ? PUSH_EXACT :
		c && (round->fate == FATE_FLUSHES ||
		      is_skipped_next(r, a->replica)) ? PUSH_FLUSH :
		PUSH_CODED;
	if (c)
		c->how = *how;
}

/* The pushes of the worker that are chosen still count, but what they have left
   is lost. */
size_t
rounds_lose_residuals(struct rounds *r, const void *worker)
{
	const size_t lost = r->holders ? holders_lose(r->holders, worker) : 0;

	for (size_t i = 0; i < r->open; i++)
		for (size_t k = 0; k < r->replicas; k++)
			if (r->round[i].replica[k].worker == worker)
				r->round[i].replica[k].worker = NULL;
	r->residuals_lost += lost;
	return lost;
}

size_t
rounds_drop_residuals(struct rounds *r, uint64_t below)
{
	const size_t lost = r->holders ? holders_drop(r->holders, below) : 0;

	r->residuals_lost += lost;
	return lost;
}

void
rounds_reset_residuals(struct rounds *r)
{
	if (r->holders)
		holders_reset(r->holders);
}

uint64_t
rounds_residuals_lost(const struct rounds *r)
{
	return r->residuals_lost;
}

/* ---- what always holds ---- */

const char *
rounds_check(const struct rounds *r)
{
	if (r->open > OPEN)
		return "rounds 1: at most two rounds are open";
	for (size_t i = 0; i < OPEN; i++) {
		const struct round *round = &r->round[i];
		size_t done = 0;

		for (size_t k = 0; k < r->replicas; k++) {
			const struct replica *s = &round->replica[k];

			done += s->done;
			if (s->done && live(s) > 0)
				return "rounds 2: no worker is at a replica "
					"that is done";
			if (s->live[0].number > 0 &&
			    s->live[0].number == s->live[1].number)
				return "rounds 3: no two attempts at a replica "
					"have the same number";
		}
		if (done != round->chosen)
			return "rounds 4: the counts of replicas are right";
		if (i >= r->open && done > 0)
			return "rounds 5: a round that is not open is empty";
		if (i > 0 && round->fate != FATE_UNDECIDED)
			return "rounds 7: the kind of push of a round is "
				"decided when earlier rounds are closed";
		if (i > 0 && i < r->open && round->step <= round[-1].step)
			return "rounds 6: rounds are open in the order of "
				"their steps";
	}
	return r->holders ? holders_check(r->holders) : NULL;
}
