#include "server/waiting_pulls.h"

#include "base/mem.h"

#include <stdlib.h>

static void
drop(struct waiting_pulls *all, struct waiting_pull *p)
{
	all->bytes -= p->pull.frame[0].size;
	free((void *)(uintptr_t)p->pull.frame[0].data);
}

/* Does a new pull m replace the pull p? */
static bool
is_replaced(const struct waiting_pull *p, uint64_t peer, bool relayed,
	    const struct message *m)
{
	return p->peer == peer && p->pull.pull.part == m->pull.part &&
		(!relayed || p->pull.request == m->request);
}

bool
waiting_pulls_add(struct waiting_pulls *all, uint64_t peer, bool relayed,
		  const struct message *m, uint64_t ahead)
{
	const struct frame *keys = &m->frame[0];
	size_t i = 0;

	while (i < all->count &&
	       !is_replaced(&all->pull[i], peer, relayed, m))
		i++;
	if (i < all->count) {
		drop(all, &all->pull[i]);
	} else {
		all->pull = mem_grow(all->pull, all->count, &all->room,
				     sizeof(*all->pull));
		all->count++;
	}
	all->pull[i].peer = peer;
	all->pull[i].ahead = ahead;
	all->pull[i].pull = *m;
	all->pull[i].pull.frame[0] = (struct frame){
		mem_copy(keys->data, keys->size), keys->size, NULL };
	all->bytes += keys->size;
	return all->bytes > all->enough + WAITING_PULLS_BYTES;
}

void
waiting_pulls_forget_leavers(struct waiting_pulls *all,
			     bool (*is_here)(void *self, uint64_t peer),
			     void *self)
{
	for (size_t i = all->count; i-- > 0; )
		if (!is_here(self, all->pull[i].peer)) {
			drop(all, &all->pull[i]);
			all->pull[i] = all->pull[--all->count];
		}
	all->enough = 2 * all->bytes;
}

const struct waiting_pull *
waiting_pulls_at(const struct waiting_pulls *all, size_t i)
{
	return i < all->count ? &all->pull[i] : NULL;
}

void
waiting_pulls_sent_ahead(struct waiting_pulls *all, size_t i, uint64_t ahead)
{
	all->pull[i].ahead = ahead;
}

struct waiting_pulls
waiting_pulls_take(struct waiting_pulls *all)
{
	const struct waiting_pulls taken = *all;

	*all = (struct waiting_pulls){ 0 };
	return taken;
}

void
waiting_pulls_release(struct waiting_pulls *all)
{
	for (size_t i = 0; i < all->count; i++)
		drop(all, &all->pull[i]);
	free(all->pull);
	*all = (struct waiting_pulls){ 0 };
}

/* ---- what always holds ---- */

const char *
waiting_pulls_check(const struct waiting_pulls *all, uint64_t step)
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
