#include "coord/step_history.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void
step_history_release(struct step_history *h)
{
	ranges_release(&h->voided);
	for (size_t i = 0; i < h->count; i++)
		call_drop(h->asked[i].call);
	free(h->asked);
	*h = (struct step_history){ 0 };
}

void
step_history_add(struct step_history *h, const struct asked_of *a)
{
	const struct asked_of *last = h->count ? &h->asked[h->count - 1] :
		NULL;

	if (last && last->batch == a->batch &&
	    call_equal(last->call, a->call) &&
	    last->place + (a->first - last->first) == a->place &&
	    !(last->learning_rate < a->learning_rate) &&
	    !(last->learning_rate > a->learning_rate))
		return;		/* it goes on as before */
	h->asked = mem_grow(h->asked, h->count, &h->room, sizeof(*h->asked));
	h->asked[h->count] = *a;
	call_hold(h->asked[h->count++].call);
}

void
step_history_void(struct step_history *h, uint64_t first, uint64_t count)
{
	ranges_add(&h->voided, first, count);
}

void
step_history_forget(struct step_history *h, uint64_t below)
{
	size_t old = 0;

	ranges_remove(&h->voided, 0, below);
	while (old + 1 < h->count && h->asked[old + 1].first <= below)
		call_drop(h->asked[old++].call);
	if (old > 0)
		memmove(h->asked, h->asked + old,
			(h->count - old) * sizeof(*h->asked));
	h->count -= old;
}

struct asked_of
step_history_of(const struct step_history *h, uint64_t step, uint64_t *until)
{
	size_t i = h->count;

	while (i > 0 && h->asked[i - 1].first > step)
		i--;
	*until = i < h->count ? h->asked[i].first : UINT64_MAX;
	return i > 0 ? h->asked[i - 1] : (struct asked_of){ 0 };
}
