#include "server/round_buffer.h"

#include "base/mem.h"
#include "base/ranges.h"
#include "tensor/tree_sum.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS	2	/* attempts that are kept of each node */

/* A push that is kept, with copies of its frames. */
struct staged {
	uint64_t attempt;		/* 0: none */
	struct frame keys, values;
	size_t keys_room, values_room;	/* bytes allocated for the copies */
	struct shard_push push;
};

/* A node of the tree over replicas; a node of level 0 is a replica. */
struct node {
	struct staged staged[ATTEMPTS];
	bool applied;			/* async part: a push was applied */
};

/* The values of a part that the newest attempts would make. */
struct ahead {
	bool tried;
	uint64_t number;		/* 0: not computed */
	uint64_t confirmed;		/* the number that the last round has
					   made true; 0: none */
	struct shard_ahead *values;
	uint64_t *attempt;		/* of each replica */
};

struct round_buffer {
	const struct plan *plan;
	const struct variable *variable;
	size_t server;
	struct shard *shard;
	uint64_t step;
	size_t replicas;		/* replicas of the last round; 0: not
					   known */
	uint64_t numbers;		/* how many results were computed
					   ahead */
	struct nodes {			/* of each part */
		struct node **node;	/* by tree_node() */
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
free_copies(struct staged *at)
{
	free((void *)(uintptr_t)at->keys.data);
	free((void *)(uintptr_t)at->values.data);
	*at = (struct staged){ 0 };
}

static void
node_free(struct node *node)
{
	for (size_t a = 0; a < ATTEMPTS; a++)
		free_copies(&node->staged[a]);
	free(node);
}

void
round_buffer_free(struct round_buffer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->plan->parts; i++) {
		for (size_t k = 0; k < s->part[i].count; k++)
			node_free(s->part[i].node[k]);
		free(s->part[i].node);
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

/* Forget the pushes, but keep the memory of their copies: the next round has
   probably pushes of the same nodes.  What this round had no use for is given
   back. */
static void
set_round(struct round_buffer *s, uint64_t step)
{
	s->step = step;
	for (size_t i = 0; i < s->plan->parts; i++) {
		forget_ahead(&s->part[i].ahead);
		for (size_t k = 0; k < s->part[i].count; k++) {
			struct node *node = s->part[i].node[k];

			node->applied = false;
			for (size_t a = 0; a < ATTEMPTS; a++)
				if (node->staged[a].attempt > 0)
					node->staged[a].attempt = 0;
				else
					free_copies(&node->staged[a]);
		}
	}
}

void
round_buffer_reset(struct round_buffer *s, uint64_t step)
{
	for (size_t i = 0; i < s->plan->parts; i++)
		s->part[i].ahead.confirmed = 0;
	set_round(s, step);
}

static bool
node_empty(const struct node *node)
{
	for (size_t a = 0; a < ATTEMPTS; a++)
		if (node->staged[a].attempt != 0)
			return false;
	return !node->applied;
}

bool
round_buffer_empty(const struct round_buffer *s)
{
	for (size_t i = 0; i < s->plan->parts; i++)
		for (size_t k = 0; k < s->part[i].count; k++)
			if (!node_empty(s->part[i].node[k]))
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
	shard_set_round(s->shard, s->step, step);
	round_buffer_reset(s, step);
	return true;
}

/* ---- pushes ---- */

/* Does a part wait for rounds?  All its variables agree; see plan_make(). */
static bool
waits_for_round(const struct round_buffer *s, size_t part)
{
	const size_t first = s->plan->part[part].first;
	const struct variable *v =
		&s->variable[s->plan->piece[first].variable];

	return !v->async && !v->unused;
}

static struct node *
node_of(struct nodes *p, uint64_t slot)
{
	const size_t node = tree_node(message_replica(slot),
				      (unsigned)message_level(slot));

	if (node >= p->count)
		p->node = mem_resize(p->node, node + 1, sizeof(*p->node));
	while (node >= p->count)
		p->node[p->count++] = mem_alloc(1, sizeof(**p->node));
	return p->node[node];
}

static void
copy_frame(struct frame *to, size_t *room, const struct frame *from)
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
stage_push(struct round_buffer *s, size_t part, uint64_t slot, uint64_t attempt,
	   const struct shard_push *push)
{
	struct staged *at = node_of(&s->part[part], slot)->staged;
	struct staged *oldest = at;

	for (size_t a = 0; a < ATTEMPTS; a++) {
		if (at[a].attempt == attempt)
			return OUTCOME_STAGED;
		if (at[a].attempt < oldest->attempt)
			oldest = &at[a];
	}
	if (attempt < oldest->attempt)
		return OUTCOME_VOID;
	copy_frame(&oldest->keys, &oldest->keys_room, push->keys);
	copy_frame(&oldest->values, &oldest->values_room, push->values);
	oldest->attempt = attempt;
	oldest->push = *push;
	oldest->push.keys = &oldest->keys;
	oldest->push.values = &oldest->values;
	oldest->push.replica = message_replica(slot);
	return OUTCOME_STAGED;
}

int
round_buffer_push(struct round_buffer *s, size_t part, uint64_t step,
		  uint64_t slot, uint64_t attempt,
		  const struct shard_push *push, enum outcome *outcome,
		  struct fail *f)
{
	if (step < s->step) {
		*outcome = OUTCOME_DUP;		/* whichever attempt it is of */
		return 0;
	}
	if (step > s->step) {
		*outcome = OUTCOME_LATER;	/* not computed from values of
						   ours */
		return 0;
	}
	if (waits_for_round(s, part)) {
		if (shard_check_push(s->shard, part, push, f) < 0)
			return -1;
		*outcome = stage_push(s, part, slot, attempt, push);
		return 0;
	}
	if (message_level(slot) > 0)
		return fail(f, FAIL_PROTOCOL, "a sum of replicas for part %zu, "
			    "which belongs to no round", part);

	struct node *at = node_of(&s->part[part], slot);

	*outcome = at->applied ? OUTCOME_DUP : OUTCOME_APPLIED;
	if (!at->applied && shard_push(s->shard, part, push, f) < 0)
		return -1;
	at->applied = true;
	return 0;
}

/* ---- pushes that have each replica's attempt once ---- */

struct cover {
	const struct nodes *part;
	const uint64_t *attempt;	/* of each replica; 0: it had nothing to
					   do */
	size_t replicas;
	struct shard_push *push;	/* in the order of replicas; room for
					   one of each */
	size_t pushes;
	struct ranges *missing;		/* chosen replicas that no push has; or
					   NULL */
	bool whole;			/* no chosen replica is missing */
};

/* Was this attempt chosen for all `leaves' replicas from first on? */
static bool
attempt_covers(const struct cover *c, size_t first, size_t leaves,
	       uint64_t attempt)
{
	if (first + leaves > c->replicas)
		return false;
	for (size_t k = first; k < first + leaves; k++)
		if (c->attempt[k] != attempt)
			return false;
	return true;
}

/* Returns the push of a node whose attempt was chosen for all its replicas, so
   that it counts in place of theirs; NULL: none. */
static const struct shard_push *
find_push(const struct cover *c, size_t first, unsigned level)
{
	const size_t n = tree_node(first, level);

	for (size_t a = 0; n < c->part->count && a < ATTEMPTS; a++) {
		const struct staged *at = &c->part->node[n]->staged[a];

		if (at->attempt > 0 &&
		    attempt_covers(c, first, (size_t)1 << level, at->attempt))
			return &at->push;
	}
	return NULL;
}

/* Every push that contains a replica belongs to a node above that replica, and
   of two such nodes one contains the other.  So taking the largest node first
   gives the fewest pushes, and misses no replica that has one. */
static void
cover_node(struct cover *c, size_t first, unsigned level)
{
	const struct shard_push *push;

	if (first >= c->replicas)
		return;
	push = find_push(c, first, level);
	if (push) {
		c->push[c->pushes++] = *push;
	} else if (level > 0) {
		cover_node(c, first, level - 1);
		cover_node(c, first + ((size_t)1 << (level - 1)), level - 1);
	} else if (c->attempt[first] > 0) {
		c->whole = false;
		if (c->missing && !ranges_has(c->missing, first))
			ranges_add(c->missing, first, 1);
	}
}

/* Find the fewest pushes that have each chosen replica once.  push: room for
   one of each replica; missing (may be NULL): gets the chosen replicas that no
   push has, for the caller to release. */
static struct cover
find_cover(const struct round_buffer *s, size_t part, const uint64_t *attempt,
	   size_t replicas, struct shard_push *push, struct ranges *missing)
{
	struct cover c = { .part = &s->part[part], .attempt = attempt,
			   .replicas = replicas, .push = push,
			   .missing = missing, .whole = true };
	unsigned level = 0;

	while ((size_t)1 << level < replicas)
		level++;
	cover_node(&c, 0, level);
	return c;
}

/* ---- what a round will come to ---- */

/* Find the newest attempt of each replica that is here, by itself or in a sum.
   Returns false if a replica has none. */
static bool
find_newest_attempts(const struct nodes *p, uint64_t *attempt, size_t replicas)
{
	for (size_t k = 0; k < replicas; k++) {
		attempt[k] = 0;
		for (unsigned level = 0; level <= WIRE_LEVELS; level++) {
			const size_t n = tree_node(k >> level << level, level);

			for (size_t a = 0; n < p->count && a < ATTEMPTS; a++)
				if (p->node[n]->staged[a].attempt > attempt[k])
					attempt[k] = p->node[n]->
						staged[a].attempt;
		}
		if (attempt[k] == 0)
			return false;
	}
	return true;
}

/* Is the newest attempt of each replica here?  Sets which attempts these are,
   and the pushes that have them. */
static bool
find_newest_pushes(const struct round_buffer *s, size_t part, uint64_t *attempt,
		   struct shard_push *push, size_t *pushes)
{
	struct cover c;

	if (s->replicas == 0 || s->part[part].count >= 2 * s->replicas ||
	    !find_newest_attempts(&s->part[part], attempt, s->replicas))
		return false;
	c = find_cover(s, part, attempt, s->replicas, push, NULL);
	*pushes = c.pushes;
	return c.whole;
}

/* Compute the result of a part.  A failure is ignored here: the COMMIT will
   report it. */
static void
compute_ahead(struct round_buffer *s, size_t part)
{
	struct ahead *a = &s->part[part].ahead;
	struct shard_push *push = mem_alloc(s->replicas + 1, sizeof(*push));
	size_t pushes;
	struct fail f;

	a->attempt = mem_resize(a->attempt, s->replicas + 1,
				sizeof(*a->attempt));
	if (find_newest_pushes(s, part, a->attempt, push, &pushes)) {
		a->tried = true;
		if (shard_run_ahead(s->shard, part, push, pushes,
				    &a->values, &f) > 0)
			a->number = ++s->numbers;
	}
	free(push);
}

uint64_t
round_buffer_run_ahead(struct round_buffer *s, size_t part)
{
	if (!s->part[part].ahead.tried && waits_for_round(s, part))
		compute_ahead(s, part);
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
	return ahead > 0 && s->part[part].ahead.confirmed == ahead;
}

/* Are these the attempts from which the part was computed ahead?  Then the
   part has those values now. */
static bool
adopt_ahead(const struct round_buffer *s, size_t part, const uint64_t *attempt,
	    size_t replicas)
{
	struct ahead *a = &s->part[part].ahead;

	a->confirmed = 0;
	if (a->number == 0 || replicas != s->replicas ||
	    memcmp(a->attempt, attempt, replicas * sizeof(*attempt)) != 0 ||
	    !shard_ahead_adopt(a->values))
		return false;
	a->confirmed = a->number;
	return true;
}

/* ---- a round is committed ---- */

/* Is this part on this server, and does it wait for rounds? */
static bool
is_in_round(const struct round_buffer *s, size_t part)
{
	return s->plan->part[part].server == s->server &&
		waits_for_round(s, part);
}

/* Find the chosen pushes to one part.  Returns how many; -1: some are not
   here. */
static int
find_all(const struct round_buffer *s, size_t part, const uint64_t *attempt,
	 struct shard_push *push, size_t replicas, struct fail *f)
{
	struct ranges missing = { 0 };
	const struct cover c = find_cover(s, part, attempt, replicas, push,
					  &missing);
	const uint64_t slot = c.whole ? 0 : missing.range->first;

	ranges_release(&missing);
	if (!c.whole)
		return fail(f, FAIL_PROTOCOL, "replica %llu of step %llu, "
			    "attempt %llu, is not staged",
			    (unsigned long long)slot,
			    (unsigned long long)s->step,
			    (unsigned long long)attempt[slot]);
	return (int)c.pushes;
}

/* The first pass only looks whether all pushes are here, so that no part is
   changed if one is missing. */
static int
apply(struct round_buffer *s, const uint64_t *attempt, size_t replicas,
      struct fail *f)
{
	struct shard_push *push = mem_alloc(replicas, sizeof(*push));
	int status = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < s->plan->parts && status >= 0; i++) {
			if (!is_in_round(s, i))
				continue;
			status = find_all(s, i, attempt, push, replicas, f);
			if (status > 0 && pass == 1 &&
			    !adopt_ahead(s, i, attempt, replicas))
				status = shard_push_replicas(s->shard, i, push,
							     (size_t)status, f);
		}
	free(push);
	return status < 0 ? -1 : 0;
}

/* Read the attempts of a COMMIT or CHECK.  Returns how many; 0: its round has
   ended; -1: it is malformed, or its round is not open yet. */
static int
read_attempts(const struct round_buffer *s, uint64_t step,
	      const struct frame *attempts, uint64_t **attempt, struct fail *f)
{
	struct unpack u = unpack_from(attempts->data, attempts->size);
	const uint32_t replicas = unpack_array(&u);
	bool some = false;

	if (step < s->step)
		return 0;	/* it was sent again */
	if (step > s->step)
		return fail(f, FAIL_PROTOCOL, "COMMIT of step %llu, but step "
			    "%llu comes first",
			    (unsigned long long)step,
			    (unsigned long long)s->step);
	if (u.bad || replicas == 0 || replicas > WIRE_REPLICAS)
		return fail(f, FAIL_PROTOCOL, "malformed COMMIT");
	*attempt = mem_alloc(replicas, sizeof(**attempt));
	for (size_t k = 0; k < replicas; k++) {
		(*attempt)[k] = unpack_uint(&u);
		some = some || (*attempt)[k] > 0;
	}
	if (unpack_ok(&u) && some)
		return (int)replicas;
	free(*attempt);
	return fail(f, FAIL_PROTOCOL, "malformed COMMIT");
}

int
round_buffer_check(const struct round_buffer *s, uint64_t step,
		   const struct frame *attempts, struct pack *slots,
		   struct fail *f)
{
	struct ranges missing = { 0 };
	uint64_t *attempt = NULL;
	const int replicas = read_attempts(s, step, attempts, &attempt, f);
	struct shard_push *push;

	if (replicas < 0)
		return -1;
	push = mem_alloc((size_t)replicas + 1, sizeof(*push));
	for (size_t i = 0; replicas > 0 && i < s->plan->parts; i++)
		if (is_in_round(s, i))
			find_cover(s, i, attempt, (size_t)replicas, push,
				   &missing);
	pack_array(slots, ranges_total(&missing));
	for (size_t k = 0; k < (size_t)replicas; k++)
		if (ranges_has(&missing, k))
			pack_uint(slots, k);
	free(push);
	free(attempt);
	ranges_release(&missing);
	return 0;
}

int
round_buffer_commit(struct round_buffer *s, uint64_t step,
		    const struct frame *attempts, struct fail *f)
{
	uint64_t *attempt;
	const int replicas = read_attempts(s, step, attempts, &attempt, f);
	int status;

	if (replicas <= 0)
		return replicas;
	status = apply(s, attempt, (size_t)replicas, f);
	free(attempt);
	if (status < 0)
		return -1;
	s->replicas = (size_t)replicas;
	shard_set_round(s->shard, step, step + 1);
	set_round(s, step + 1);
	return 0;
}

/* ---- for tests ---- */

size_t
round_buffer_bytes(const struct round_buffer *s)
{
	size_t bytes = 0;

	for (size_t i = 0; i < s->plan->parts; i++)
		for (size_t k = 0; k < s->part[i].count; k++)
			for (size_t a = 0; a < ATTEMPTS; a++) {
				const struct staged *at =
					&s->part[i].node[k]->staged[a];

				bytes += at->keys_room + at->values_room;
			}
	return bytes;
}
