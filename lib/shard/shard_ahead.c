#include "shard/shard_private.h"

#include "base/mem.h"

#include <stdlib.h>

struct shard_ahead {
	struct shard *shard;
	size_t part;
	uint64_t step;
	struct piece_state *state;	/* of each of its pieces */
};

static bool
has_table(const struct shard *s, const struct part *part)
{
	for (size_t i = 0; i < part->count; i++)
		if (s->plan->piece[part->first + i].table)
			return true;
	return false;
}

/* What is there changes places with what is kept. */
static void
change_places(struct shard_ahead *a)
{
	const struct part *part = &a->shard->plan->part[a->part];
	struct shard_piece *h = &a->shard->holding[part->first];

	for (size_t i = 0; i < part->count; i++) {
		const struct piece_state now = h[i].now;

		h[i].now = a->state[i];
		a->state[i] = now;
	}
}

int
shard_run_ahead(struct shard *s, size_t n, const struct shard_push *push,
		size_t pushes, struct shard_ahead **to, struct fail *f)
{
	const struct part *part = &s->plan->part[n];
	struct gradient_sum sum;
	struct shard_ahead *a;
	int r;

	if (has_table(s, part))
		return 0;
	r = shard_sum_replicas(s, n, push, pushes, &sum, f);
	if (r <= 0)
		return r;
	a = mem_alloc(1, sizeof(*a));
	a->shard = s;
	a->part = n;
	a->step = push->step;
	a->state = mem_alloc(part->count, sizeof(*a->state));
	for (size_t i = 0; i < part->count; i++)
		a->state[i] = piece_state_share(&s->holding[part->first + i]);
	change_places(a);
	shard_apply(s, NULL, n, sum.gradient, push, sum.examples);
	change_places(a);
	shard_rows_forget(s->pushed);
	*to = a;
	return 1;
}

void
shard_ahead_free(struct shard_ahead *a)
{
	if (!a)
		return;

	const struct part *part = &a->shard->plan->part[a->part];

	for (size_t i = 0; i < part->count; i++)
		piece_state_release(&a->state[i],
				    &a->shard->holding[part->first + i]);
	free(a->state);
	free(a);
}

void
shard_ahead_pull(struct shard_ahead *a, struct encoding encoding,
		 struct frame *values)
{
	const struct frame none = { 0 };	/* keys: it has no table */
	struct fail never;

	change_places(a);
	shard_pull(a->shard, a->part, &none, NULL, encoding, values, &never);
	change_places(a);
}

bool
shard_ahead_adopt(struct shard_ahead *a)
{
	struct shard_snapshot *one;

	for (one = a->shard->snapshots; one; one = one->next)
		if (a->step < one->step && one->content && !one->array)
			return false;
	for (one = a->shard->snapshots; one; one = one->next)
		if (a->step >= one->step)
			shard_snapshot_freeze(one);
	change_places(a);
	a->shard->version[a->part]++;
	return true;
}
