/*
 * What always holds of a worker that has taken an event and not yet the next
 * one.  A number is never given anew.
 */
#include "worker/worker_inside.h"

static const char *
check_leases(const struct worker *w)
{
	if (w->leases > MAX_LEASES)
		return "worker 1: the ring has room for all leases";
	for (size_t i = 0; i < w->leases; i++) {
		const struct lease *l = worker_lease_at(w, i);

		if (l->next < l->first || l->next > l->end)
			return "worker 2: steps of a lease are begun in order";
		if (l->count > l->next - l->first)
			return "worker 3: only what was begun has a result";
	}
	return NULL;
}

static bool
in_ring(const struct worker *w, const struct lease *l)
{
	for (size_t i = 0; i < w->leases; i++)
		if (worker_lease_at(w, i) == l)
			return true;
	return false;
}

static const char *
check_works(const struct worker *w)
{
	size_t at[STAGE_PUSHING + 1] = { 0 };

	for (size_t i = 0; i < WORKS; i++) {
		const struct work *work = &w->work[i];
		const struct lease *l = work->lease;

		at[work->stage]++;
		if (work->stage == STAGE_NONE && (l || work->turn != 0))
			return "worker 4: nothing is left of a step that has "
				"come to its end";
		if (l && !in_ring(w, l))
			return "worker 5: the lease of a step in the making is "
				"in the ring";
		if (l && (work->step < l->first || work->step >= l->next))
			return "worker 6: a step in the making is one of its "
				"lease that was begun";
		if (work->stage >= STAGE_COMPUTED && !l)
			return "worker 7: what is computed or pushed has a "
				"lease";
	}
	if (at[STAGE_PULLING] > 1 || at[STAGE_PUSHING] > 1 ||
	    at[STAGE_COMPUTED] > 1)
		return "worker 8: one step at most is pulled for, one is to "
			"be pushed, one is pushed";
	if (w->client && !w->score.pulling && client_idle(w->client) &&
	    at[STAGE_PULLING] + at[STAGE_PUSHING] > 0)
		return "worker 9: what is under way has not been answered";
	return NULL;
}

const char *
worker_check(const struct worker *w)
{
	const char *broken = check_leases(w);

	return broken || w->broken.kind ? broken : check_works(w);
}
