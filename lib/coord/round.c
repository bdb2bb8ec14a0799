#include "coord/round.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define OPEN		2	/* rounds */
#define CANDIDATES	2	/* attempts at a slot that may be chosen */

struct slot {
	uint64_t attempts;		/* so far */
	struct candidate {
		uint64_t number;	/* 0: none */
		void *worker;
	} live[CANDIDATES];
	bool done;
	uint64_t chosen;		/* its number; 0: it was skipped */
	struct result result;		/* of the chosen one */
	float *scores;
	unsigned char *positive;
	struct text json;
};

struct round {
	uint64_t step;
	struct slot *slot;
	size_t chosen;			/* slots that are */
};

struct rounds {
	size_t slots, backups;
	uint64_t base;			/* attempts of this term are above */
	uint64_t retried;
	struct round round[OPEN];	/* the first ones are open */
	size_t open;
	void **owner;			/* of each slot, or NULL */
	float *scores;
	unsigned char *positive;
	struct text json;
};

struct rounds *
rounds_new(size_t slots, size_t backups)
{
	struct rounds *r = mem_alloc(1, sizeof(*r));

	r->slots = slots;
	r->backups = backups;
	r->owner = mem_alloc(slots, sizeof(*r->owner));
	for (size_t i = 0; i < OPEN; i++)
		r->round[i].slot = mem_alloc(slots, sizeof(struct slot));
	return r;
}

static void
empty(struct rounds *r, struct round *round)
{
	for (size_t k = 0; k < r->slots; k++) {
		free(round->slot[k].scores);
		free(round->slot[k].positive);
		text_release(&round->slot[k].json);
		round->slot[k] = (struct slot){ 0 };
	}
	round->chosen = 0;
}

void
rounds_free(struct rounds *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < OPEN; i++) {
		empty(r, &r->round[i]);
		free(r->round[i].slot);
	}
	free(r->owner);
	free(r->scores);
	free(r->positive);
	text_release(&r->json);
	free(r);
}

size_t
rounds_slots(const struct rounds *r)
{
	return r->slots;
}

void
rounds_own(struct rounds *r, size_t slot, void *worker)
{
	r->owner[slot] = worker;
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
rounds_skip(struct rounds *r, size_t slot)
{
	struct round *round = &r->round[r->open - 1];

	round->slot[slot].done = true;
	round->chosen++;
}

/* ---- who does what ---- */

/* The first round that lacks something, or NULL. */
static struct round *
turn(const struct rounds *r)
{
	for (size_t i = 0; i < r->open; i++)
		if (r->round[i].chosen < r->slots)
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
live(const struct slot *s)
{
	size_t count = 0;

	for (size_t i = 0; i < CANDIDATES; i++)
		count += s->live[i].number != 0;
	return count;
}

static bool
free_slot(const struct slot *s)
{
	return !s->done && live(s) == 0;
}

/*
 * A slot that nobody is at: the worker's own first, then one that nobody
 * owns, then, if it may, any.  The count of slots: none.
 */
static size_t
find_slot(const struct rounds *r, const struct round *round,
	  const void *worker, bool any)
{
	size_t best = r->slots;

	for (size_t k = 0; k < r->slots; k++) {
		if (!free_slot(&round->slot[k]))
			continue;
		if (r->owner[k] == worker)
			return k;
		if (best == r->slots ? any || !r->owner[k] :
		    r->owner[best] && !r->owner[k])
			best = k;
	}
	return best;
}

/* One that somebody else is at, when nearly all others are done. */
static size_t
find_late(const struct rounds *r, const struct round *round,
	  const void *worker)
{
	for (size_t k = 0; k < r->slots &&
	     r->slots - round->chosen <= r->backups; k++) {
		const struct slot *s = &round->slot[k];

		if (!s->done && live(s) == 1 && s->live[0].worker != worker &&
		    s->live[1].worker != worker)
			return k;
	}
	return r->slots;
}

/* Only this attempt and the one before it may be chosen from now on. */
static struct attempt
begin(struct rounds *r, struct round *round, size_t k, void *worker)
{
	struct slot *s = &round->slot[k];
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
	*at = (struct candidate){ s->attempts, worker };
	if (live(s) == 1) {
		r->owner[k] = worker;
		r->retried += s->attempts > r->base + 1;
	}
	return (struct attempt){ round->step, k, s->attempts };
}

bool
rounds_lease(struct rounds *r, void *worker, bool ahead, bool spare,
	     struct attempt *a)
{
	struct round *round = turn(r);
	size_t k = r->slots;

	if (round)
		k = find_slot(r, round, worker, true);
	if (round && k == r->slots && ahead &&
	    round + 1 < r->round + r->open) {
		k = find_slot(r, round + 1, worker, false);
		if (k < r->slots)
			round++;
	}
	/* What waits for the round before it is not late. */
	if (round == r->round && k == r->slots && spare)
		k = find_late(r, round, worker);
	if (k == r->slots)
		return false;
	*a = begin(r, round, k, worker);
	return true;
}

uint64_t
rounds_retried(const struct rounds *r)
{
	return r->retried;
}

/* The slot of an attempt, if its round is open. */
static struct slot *
find(const struct rounds *r, const struct attempt *a, struct round **round)
{
	for (size_t i = 0; i < r->open; i++)
		if (r->round[i].step == a->step && a->slot < r->slots) {
			*round = (struct round *)(uintptr_t)&r->round[i];
			return &r->round[i].slot[a->slot];
		}
	return NULL;
}

static struct candidate *
candidate(struct slot *s, const void *worker, const struct attempt *a)
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
	struct slot *s = find(r, a, &round);

	*overtaken = NULL;
	if (!candidate(s, worker, a))
		return false;
	for (size_t i = 0; i < CANDIDATES; i++) {
		if (s->live[i].number != a->number)
			*overtaken = s->live[i].number ? s->live[i].worker :
				*overtaken;
		s->live[i] = (struct candidate){ 0 };
	}
	s->done = true;
	s->chosen = a->number;
	s->result = *result;
	text_add_bytes(&s->json, result->json.data, result->json.size);
	s->result.json = (struct frame){ 0 };
	if (result->scores > 0) {
		s->scores = mem_copy(scores,
				     result->scores * sizeof(*scores));
		s->positive = mem_copy(positive, result->scores);
	}
	r->owner[a->slot] = worker;
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
	for (size_t k = 0; k < r->slots; k++) {
		if (r->owner[k] == worker)
			r->owner[k] = NULL;
		for (size_t i = 0; i < r->open; i++)
			for (size_t c = 0; c < CANDIDATES; c++) {
				struct candidate *at =
					&r->round[i].slot[k].live[c];

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

	for (size_t k = 0; round && k < r->slots; k++)
		count += live(&round->slot[k]);
	return count;
}

/* ---- a round that is whole ---- */

bool
rounds_whole(const struct rounds *r)
{
	return r->open > 0 && r->round[0].chosen == r->slots;
}

uint64_t
rounds_step(const struct rounds *r)
{
	return r->round[0].step;
}

uint64_t
rounds_chosen(const struct rounds *r, size_t slot)
{
	return r->round[0].slot[slot].chosen;
}

static void
add_result(struct result *to, const struct result *r)
{
	to->examples += r->examples;
	to->loss += r->loss;
	to->scores += r->scores;
	to->mixed = to->mixed || r->mixed;
	if (r->staleness > to->staleness)
		to->staleness = r->staleness;
	if (r->microseconds > to->microseconds)
		to->microseconds = r->microseconds;
	to->metrics = r->metrics;
	for (size_t i = 0; i < r->metrics; i++)
		for (size_t j = 0; j < METRIC_SUMS; j++)
			to->sum[i][j] += r->sum[i][j];
}

/* A list of what each slot gave back; nothing, if none did. */
static struct frame
list_json(struct rounds *r, const struct round *round)
{
	struct text *out = &r->json;
	bool any = false;

	text_reset(out);
	for (size_t k = 0; k < r->slots; k++) {
		const struct text *one = &round->slot[k].json;

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
	for (size_t k = 0; k < r->slots; k++)
		if (round->slot[k].chosen)
			add_result(result, &round->slot[k].result);
	result->json = list_json(r, round);
	r->scores = mem_resize(r->scores, result->scores + 1,
			       sizeof(*r->scores));
	r->positive = mem_resize(r->positive, result->scores + 1, 1);
	for (size_t k = 0; k < r->slots; k++) {
		const struct slot *s = &round->slot[k];

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
	const struct round first = r->round[0];

	empty(r, &r->round[0]);
	r->open--;
	for (size_t i = 0; i + 1 < OPEN; i++)
		r->round[i] = r->round[i + 1];
	r->round[OPEN - 1] = first;
	r->round[OPEN - 1].chosen = 0;
}

void
rounds_reset(struct rounds *r, bool first)
{
	const size_t kept = !first && r->open > 0;

	for (size_t i = kept; i < r->open; i++)
		empty(r, &r->round[i]);
	r->open = kept;
}

void
rounds_number(struct rounds *r, uint64_t base)
{
	r->base = base;
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

		for (size_t k = 0; k < r->slots; k++) {
			const struct slot *s = &round->slot[k];

			done += s->done;
			if (s->done && live(s) > 0)
				return "rounds 2: nobody is at a slot that is "
					"done";
			if (s->live[0].number > 0 &&
			    s->live[0].number == s->live[1].number)
				return "rounds 3: two attempts at a slot have "
					"two numbers";
		}
		if (done != round->chosen)
			return "rounds 4: slots are counted as what they are";
		if (i >= r->open && done > 0)
			return "rounds 5: a round that is not open is empty";
		if (i > 0 && i < r->open && round->step <= round[-1].step)
			return "rounds 6: rounds are open in the order of "
				"their steps";
	}
	return NULL;
}
