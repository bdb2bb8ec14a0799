#include "shard/shard_private.h"

#include "base/mem.h"

#include <stdlib.h>

struct shard_ahead {
	struct shard *shard;
	size_t part;
	uint64_t step;
	struct piece_state *state;	/* of each piece of the part */
	struct difference difference;	/* from the published copy; or empty */
	bool begun, lost;		/* begun: the published copy begins
					   anew; lost: not because the step says
					   so */
};

static bool
has_table(const struct shard *s, const struct part *part)
{
	for (size_t i = 0; i < part->count; i++)
		if (s->plan->piece[part->first + i].table)
			return true;
	return false;
}

/* Swap the shard's values with those that are kept here. */
static void
swap_states(struct shard_ahead *a)
{
	const struct part *part = &a->shard->plan->part[a->part];
	struct shard_piece *h = &a->shard->holding[part->first];

	for (size_t i = 0; i < part->count; i++) {
		const struct piece_state now = h[i].now;

		h[i].now = a->state[i];
		a->state[i] = now;
	}
}

/* Publish the new values, beside the shard's published copy, which stays until
   this is adopted. */
static void
publish(struct shard_ahead *a)
{
	struct shard *s = a->shard;
	const struct part *part = &s->plan->part[a->part];

	if (!plan_delta(s->plan, a->part) ||
	    published_advance(s, a->part, a->step + 1, &a->difference))
		return;
	send_buffer_free(&a->difference.buffer);
	a->begun = true;
	a->lost = published_continues(s, a->part, a->step + 1);
	for (size_t i = 0; i < part->count; i++)
		published_begin(&s->holding[part->first + i]);
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
	swap_states(a);
	shard_apply(s, NULL, n, sum.gradient, push, sum.examples);
	publish(a);
	swap_states(a);
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
	send_buffer_free(&a->difference.buffer);
	free(a->state);
	free(a);
}

void
shard_ahead_pull(struct shard_ahead *a, struct encoding encoding,
		 uint64_t have, struct shard_news *news)
{
	const struct coding *c = plan_delta(a->shard->plan, a->part);
	const struct frame none = { 0 };	/* no keys: the part has no
						   table */
	struct fail never;

	*news = (struct shard_news){ 0 };
	swap_states(a);
	if (encoding.codings && c && encoding.step >= c->from)
		published_pull(a->shard, a->part, have, a->difference,
			       a->begun, news);
	else
		shard_pull(a->shard, a->part, &none, NULL, encoding,
			   &news->values, &never);
	swap_states(a);
}

static void
adopt_published(struct shard_ahead *a)
{
	struct published *p = &a->shard->published[a->part];

	if (a->difference.buffer) {
		published_keep(p, &a->difference);
	} else if (a->lost) {
		p->edition++;
		p->count = 0;
	}
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
	swap_states(a);
	a->shard->version[a->part]++;
	adopt_published(a);
	return true;
}
