#include "server/round_buffer.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS	2	/* kept of each replica */

/* A push, with frames of its own. */
struct staged {
	uint64_t attempt;		/* 0: none */
	struct frame keys, values;
	size_t keys_room, values_room;	/* as much as there ever was */
	struct shard_push push;
};

struct replica {
	struct staged staged[ATTEMPTS];
	bool applied;			/* to a part that does not wait */
};

/* What a round would come to. */
struct ahead {
	bool tried;
	uint64_t number;		/* 0: there is none */
	uint64_t came_true;		/* of the last round that has ended */
	struct shard_ahead *values;
	uint64_t *attempt;		/* of each replica */
};

struct round_buffer {
	const struct plan *plan;
	const struct variable *variable;
	size_t server;
	struct shard *shard;
	uint64_t step;
	size_t replicas;		/* of the last round; 0: not known */
	uint64_t numbers;		/* of what was worked out ahead */
	struct replicas {		/* of each part */
		struct replica **replica;
		size_t count;
		struct ahead ahead;
	} *part;
};

struct round_buffer *
round_buffer_new(const struct plan *plan, const struct model *model,
		 size_t server, struct shard *shard, uint64_t step)
{
	struct round_buffer *s = mem_alloc(1, sizeof(*s));
	size_t variables;

	s->plan = plan;
	s->variable = model_variables(model, &variables);
	s->server = server;
	s->shard = shard;
	s->step = step;
	s->part = mem_alloc(plan->parts, sizeof(*s->part));
	return s;
}

static void
replica_free(struct replica *replica)
{
	for (size_t a = 0; a < ATTEMPTS; a++) {
		free((void *)(uintptr_t)replica->staged[a].keys.data);
		free((void *)(uintptr_t)replica->staged[a].values.data);
	}
	free(replica);
}

void
round_buffer_free(struct round_buffer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->plan->parts; i++) {
		for (size_t k = 0; k < s->part[i].count; k++)
			replica_free(s->part[i].replica[k]);
		free(s->part[i].replica);
		shard_ahead_free(s->part[i].ahead.values);
		free(s->part[i].ahead.attempt);
	}
	free(s->part);
	free(s);
}

uint64_t
round_buffer_step(const struct round_buffer *s)
{
	return s->step;
}

static void
forget_ahead(struct ahead *a)
{
	shard_ahead_free(a->values);
	a->values = NULL;
	a->number = 0;
	a->tried = false;
}

/* The pushes are forgotten, their room is kept. */
static void
stand_at(struct round_buffer *s, uint64_t step)
{
	s->step = step;
	for (size_t i = 0; i < s->plan->parts; i++) {
		forget_ahead(&s->part[i].ahead);
		for (size_t k = 0; k < s->part[i].count; k++) {
			struct replica *replica = s->part[i].replica[k];

			replica->applied = false;
			for (size_t a = 0; a < ATTEMPTS; a++)
				replica->staged[a].attempt = 0;
		}
	}
}

void
round_buffer_reset(struct round_buffer *s, uint64_t step)
{
	for (size_t i = 0; i < s->plan->parts; i++)
		s->part[i].ahead.came_true = 0;
	stand_at(s, step);
}

static bool
replica_empty(const struct replica *replica)
{
	for (size_t a = 0; a < ATTEMPTS; a++)
		if (replica->staged[a].attempt != 0)
			return false;
	return !replica->applied;
}

bool
round_buffer_empty(const struct round_buffer *s)
{
	for (size_t i = 0; i < s->plan->parts; i++)
		for (size_t k = 0; k < s->part[i].count; k++)
			if (!replica_empty(s->part[i].replica[k]))
				return false;
	return true;
}

bool
round_buffer_advance(struct round_buffer *s, uint64_t low,
		     const struct window *voided)
{
	uint64_t step = s->step < low ? low : s->step;

	while (step - low < WINDOW && window_has(voided, step))
		step++;
	if (step == s->step)
		return false;
	shard_stand_at(s->shard, s->step, step);
	round_buffer_reset(s, step);
	return true;
}

/* ---- pushes ---- */

/* All variables of a part are alike in this; see plan_make(). */
static bool
waits(const struct round_buffer *s, size_t part)
{
	const size_t first = s->plan->part[part].first;
	const struct variable *v =
		&s->variable[s->plan->piece[first].variable];

	return !v->async && !v->unused;
}

static struct replica *
reserve(struct replicas *p, size_t replica)
{
	if (replica >= p->count)
		p->replica = mem_resize(p->replica, replica + 1,
					sizeof(*p->replica));
	while (replica >= p->count)
		p->replica[p->count++] = mem_alloc(1, sizeof(**p->replica));
	return p->replica[replica];
}

static void
copy(struct frame *to, size_t *room, const struct frame *from)
{
	if (from->size > *room) {
		*room = from->size;
		to->data = mem_resize((void *)(uintptr_t)to->data, *room, 1);
	}
	to->size = from->size;
	if (from->size > 0)
		memcpy((void *)(uintptr_t)to->data, from->data, from->size);
}

static enum outcome
keep(struct round_buffer *s, size_t part, uint64_t replica, uint64_t attempt,
     const struct shard_push *push)
{
	struct staged *at = reserve(&s->part[part], replica)->staged;
	struct staged *oldest = at;

	for (size_t a = 0; a < ATTEMPTS; a++) {
		if (at[a].attempt == attempt)
			return OUTCOME_STAGED;
		if (at[a].attempt < oldest->attempt)
			oldest = &at[a];
	}
	if (attempt < oldest->attempt)
		return OUTCOME_VOID;
	copy(&oldest->keys, &oldest->keys_room, push->keys);
	copy(&oldest->values, &oldest->values_room, push->values);
	oldest->attempt = attempt;
	oldest->push = *push;
	oldest->push.keys = &oldest->keys;
	oldest->push.values = &oldest->values;
	oldest->push.replica = replica;
	return OUTCOME_STAGED;
}

int
round_buffer_push(struct round_buffer *s, size_t part, uint64_t step,
		  uint64_t replica, uint64_t attempt,
		  const struct shard_push *push, enum outcome *outcome,
		  struct fail *f)
{
	if (step < s->step) {
		*outcome = OUTCOME_DUP;		/* of whichever attempt */
		return 0;
	}
	if (step > s->step) {
		*outcome = OUTCOME_LATER;	/* of no values of ours */
		return 0;
	}
	if (waits(s, part)) {
		if (shard_check_push(s->shard, part, push, f) < 0)
			return -1;
		*outcome = keep(s, part, replica, attempt, push);
		return 0;
	}

	struct replica *at = reserve(&s->part[part], replica);

	*outcome = at->applied ? OUTCOME_DUP : OUTCOME_APPLIED;
	if (!at->applied && shard_push(s->shard, part, push, f) < 0)
		return -1;
	at->applied = true;
	return 0;
}

/* ---- what a round will come to ---- */

/* The newest attempt at a replica that is here, or NULL. */
static const struct staged *
newest(const struct replica *replica)
{
	const struct staged *at = replica->staged;

	for (size_t a = 1; a < ATTEMPTS; a++)
		if (replica->staged[a].attempt > at->attempt)
			at = &replica->staged[a];
	return at->attempt > 0 ? at : NULL;
}

/* Is one of each replica here?  Which, and what was pushed? */
static bool
gather(const struct round_buffer *s, size_t part, uint64_t *attempt,
       struct shard_push *push)
{
	const struct replicas *p = &s->part[part];

	for (size_t k = 0; k < s->replicas; k++) {
		const struct staged *at = k < p->count ?
			newest(p->replica[k]) : NULL;

		if (!at)
			return false;
		attempt[k] = at->attempt;
		push[k] = at->push;
	}
	return s->replicas > 0 && p->count == s->replicas;
}

/* What it cannot do, the round's end will say. */
static void
work_out(struct round_buffer *s, size_t part)
{
	struct ahead *a = &s->part[part].ahead;
	struct shard_push *push = mem_alloc(s->replicas + 1, sizeof(*push));
	struct fail f;

	a->attempt = mem_resize(a->attempt, s->replicas + 1,
				sizeof(*a->attempt));
	if (gather(s, part, a->attempt, push)) {
		a->tried = true;
		if (shard_run_ahead(s->shard, part, push, s->replicas,
				    &a->values, &f) > 0)
			a->number = ++s->numbers;
	}
	free(push);
}

uint64_t
round_buffer_run_ahead(struct round_buffer *s, size_t part)
{
	if (!s->part[part].ahead.tried && waits(s, part))
		work_out(s, part);
	return s->part[part].ahead.number;
}

void
round_buffer_pull_ahead(struct round_buffer *s, size_t part,
			struct encoding encoding, uint64_t have,
			struct shard_news *news)
{
	shard_ahead_pull(s->part[part].ahead.values, encoding, have, news);
}

bool
round_buffer_came_to(const struct round_buffer *s, size_t part, uint64_t ahead)
{
	return ahead > 0 && s->part[part].ahead.came_true == ahead;
}

/* Is it what was worked out?  Then that is there now. */
static bool
adopt(const struct round_buffer *s, size_t part, const uint64_t *attempt,
      size_t replicas)
{
	struct ahead *a = &s->part[part].ahead;

	a->came_true = 0;
	if (a->number == 0 || replicas != s->replicas ||
	    memcmp(a->attempt, attempt, replicas * sizeof(*attempt)) != 0 ||
	    !shard_ahead_adopt(a->values))
		return false;
	a->came_true = a->number;
	return true;
}

/* ---- a round is committed ---- */

static const struct shard_push *
find(const struct round_buffer *s, size_t part, size_t replica,
     uint64_t attempt)
{
	const struct replicas *p = &s->part[part];

	for (size_t a = 0; replica < p->count && a < ATTEMPTS; a++)
		if (p->replica[replica]->staged[a].attempt == attempt)
			return &p->replica[replica]->staged[a].push;
	return NULL;
}

/* The chosen pushes to one part, how many; -1: they are not all here. */
static int
find_all(const struct round_buffer *s, size_t part, const uint64_t *attempt,
	 struct shard_push *replica, size_t replicas, struct fail *f)
{
	int count = 0;

	for (size_t k = 0; k < replicas; k++) {
		const struct shard_push *push = find(s, part, k, attempt[k]);

		if (attempt[k] == 0)
			continue;	/* it had nothing to do */
		if (!push)
			return fail(f, FAIL_PROTOCOL, "slot %zu of step %llu, "
				    "attempt %llu, is not staged", k,
				    (unsigned long long)s->step,
				    (unsigned long long)attempt[k]);
		replica[count++] = *push;
	}
	return count;
}

/* All parts are looked for before one is changed. */
static int
apply(struct round_buffer *s, const uint64_t *attempt, size_t replicas,
      struct fail *f)
{
	struct shard_push *replica = mem_alloc(replicas, sizeof(*replica));
	int status = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < s->plan->parts && status >= 0; i++) {
			if (s->plan->part[i].server != s->server ||
			    !waits(s, i))
				continue;
			status = find_all(s, i, attempt, replica, replicas, f);
			if (status > 0 && pass == 1 &&
			    !adopt(s, i, attempt, replicas))
				status = shard_push_replicas(s->shard, i,
							     replica,
							     (size_t)status, f);
		}
	free(replica);
	return status < 0 ? -1 : 0;
}

int
round_buffer_commit(struct round_buffer *s, uint64_t step,
		    const struct frame *attempts, struct fail *f)
{
	struct unpack u = unpack_from(attempts->data, attempts->size);
	const uint32_t replicas = unpack_array(&u);
	uint64_t *attempt;
	bool some = false;
	int status;

	if (step < s->step)
		return 0;	/* said again */
	if (step > s->step)
		return fail(f, FAIL_PROTOCOL, "step %llu is to be committed, "
			    "but it is the turn of step %llu",
			    (unsigned long long)step,
			    (unsigned long long)s->step);
	if (u.bad || replicas == 0 || replicas > WIRE_REPLICAS)
		return fail(f, FAIL_PROTOCOL, "malformed COMMIT");
	attempt = mem_alloc(replicas, sizeof(*attempt));
	for (size_t k = 0; k < replicas; k++) {
		attempt[k] = unpack_uint(&u);
		some = some || attempt[k] > 0;
	}
	status = unpack_ok(&u) && some ? apply(s, attempt, replicas, f) :
		fail(f, FAIL_PROTOCOL, "malformed COMMIT");
	free(attempt);
	if (status < 0)
		return -1;
	s->replicas = replicas;
	shard_stand_at(s->shard, step, step + 1);
	stand_at(s, step + 1);
	return 0;
}
