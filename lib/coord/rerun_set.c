#include "coord/rerun_set.h"

#include "base/mem.h"

#include <stdlib.h>

void
rerun_set_release(struct rerun_set *r)
{
	ranges_release(&r->todo);
	free(r->out);
	*r = (struct rerun_set){ 0 };
}

bool
rerun_set_idle(const struct rerun_set *r)
{
	return r->todo.count == 0 && r->outs == 0;
}

uint64_t
rerun_set_watermark(const struct rerun_set *r)
{
	uint64_t low = r->todo.count ? r->todo.range[0].first : UINT64_MAX;

	for (size_t i = 0; i < r->outs; i++)
		if (r->out[i].step < low)
			low = r->out[i].step;
	return low;
}

size_t
rerun_set_lease(struct rerun_set *r, const void *worker, size_t most,
		uint64_t limit, uint64_t *first)
{
	const struct range *next = r->todo.range;
	uint64_t count;

	if (r->todo.count == 0 || next->first >= limit)
		return 0;
	*first = next->first;
	count = (next->end < limit ? next->end : limit) - next->first;
	if (count > most)
		count = most;
	ranges_remove(&r->todo, *first, count);
	for (uint64_t i = 0; i < count; i++) {
		r->out = mem_grow(r->out, r->outs, &r->room, sizeof(*r->out));
		r->out[r->outs++] =
			(struct rerun_set_out){ *first + i, worker };
	}
	return (size_t)count;
}

void
rerun_set_end(struct rerun_set *r, uint64_t step)
{
	for (size_t i = 0; i < r->outs; i++)
		if (r->out[i].step == step) {
			r->out[i] = r->out[--r->outs];
			return;
		}
}

void
rerun_set_return(struct rerun_set *r, const void *worker)
{
	for (size_t i = r->outs; i-- > 0;)
		if (!worker || r->out[i].worker == worker) {
			ranges_add(&r->todo, r->out[i].step, 1);
			r->out[i] = r->out[--r->outs];
		}
}

const char *
rerun_set_check(const struct rerun_set *r)
{
	for (size_t i = 0; i < r->outs; i++) {
		if (ranges_has(&r->todo, r->out[i].step))
			return "rerun 1: a leased step is not among those that "
				"wait";
		if (!r->out[i].worker)
			return "rerun 2: a leased step has a worker";
		for (size_t k = 0; k < i; k++)
			if (r->out[k].step == r->out[i].step)
				return "rerun 3: a step is leased once";
	}
	return NULL;
}
