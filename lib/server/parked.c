#include "server/parked.h"

#include "base/mem.h"

#include <stdlib.h>

static void
drop(struct parked *all, struct parked_pull *p)
{
	all->bytes -= p->pull.frame[0].size;
	free((void *)(uintptr_t)p->pull.frame[0].data);
}

bool
parked_add(struct parked *all, uint64_t peer, const struct message *m)
{
	const struct frame *keys = &m->frame[0];
	size_t i = 0;

	while (i < all->count && (all->pull[i].peer != peer ||
				  all->pull[i].pull.pull.part !=
				  m->pull.part))
		i++;
	if (i < all->count) {
		drop(all, &all->pull[i]);
	} else {
		all->pull = mem_grow(all->pull, all->count, &all->room,
				     sizeof(*all->pull));
		all->count++;
	}
	all->pull[i].peer = peer;
	all->pull[i].pull = *m;
	all->pull[i].pull.frame[0] = (struct frame){
		mem_copy(keys->data, keys->size), keys->size, NULL };
	all->bytes += keys->size;
	return all->bytes > all->enough + PARKED_BYTES;
}

void
parked_forget_leavers(struct parked *all,
		      bool (*is_here)(void *self, uint64_t peer), void *self)
{
	for (size_t i = all->count; i-- > 0; )
		if (!is_here(self, all->pull[i].peer)) {
			drop(all, &all->pull[i]);
			all->pull[i] = all->pull[--all->count];
		}
	all->enough = 2 * all->bytes;
}

const struct parked_pull *
parked_at(const struct parked *all, size_t i)
{
	return i < all->count ? &all->pull[i] : NULL;
}

struct parked
parked_take(struct parked *all)
{
	const struct parked taken = *all;

	*all = (struct parked){ 0 };
	return taken;
}

void
parked_release(struct parked *all)
{
	for (size_t i = 0; i < all->count; i++)
		drop(all, &all->pull[i]);
	free(all->pull);
	*all = (struct parked){ 0 };
}

/* ---- what always holds ---- */

const char *
parked_check(const struct parked *all, uint64_t step)
{
	size_t bytes = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct message *pull = &all->pull[i].pull;

		bytes += pull->frame[0].size;
		if (pull->pull.after <= step)
			return "server 16: a pull waits for a round that has "
				"not ended";
	}
	return bytes == all->bytes ? NULL :
		"server 17: keys that wait are counted as they are";
}
