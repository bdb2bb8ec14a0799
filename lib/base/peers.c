#include "base/peers.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

void
peers_release(struct peers *p)
{
	free(p->entry);
	*p = (struct peers){ 0 };
}

/* Return the slot where a peer is, or where it would go. */
static size_t
slot(const struct peers *p, uint64_t peer)
{
	size_t at = rng_at(0, 0, peer) & (p->room - 1);

	while (p->entry[at].item && p->entry[at].peer != peer)
		at = (at + 1) & (p->room - 1);
	return at;
}

void *
peers_find(const struct peers *p, uint64_t peer)
{
	return p->count ? p->entry[slot(p, peer)].item : NULL;
}

static void
grow(struct peers *p)
{
	struct peers old = *p;

	p->room = old.room ? 2 * old.room : 16;
	p->entry = mem_alloc(p->room, sizeof(*p->entry));
	for (size_t i = 0; i < old.room; i++)
		if (old.entry[i].item)
			p->entry[slot(p, old.entry[i].peer)] = old.entry[i];
	free(old.entry);
}

void
peers_set(struct peers *p, uint64_t peer, void *item)
{
	if (2 * (p->count + 1) > p->room)
		grow(p);

	const size_t at = slot(p, peer);

	p->count += !p->entry[at].item;
	p->entry[at] = (struct peers_entry){ peer, item };
}

void
peers_remove(struct peers *p, uint64_t peer)
{
	if (p->count == 0)
		return;

	size_t hole = slot(p, peer);

	if (!p->entry[hole].item)
		return;
	p->entry[hole].item = NULL;
	p->count--;
	/* Open addressing: the entries that follow, up to a free slot, may
	   belong in the hole, so they are put in again. */
	for (size_t at = (hole + 1) & (p->room - 1); p->entry[at].item;
	     at = (at + 1) & (p->room - 1)) {
		const struct peers_entry moved = p->entry[at];

		p->entry[at].item = NULL;
		p->entry[slot(p, moved.peer)] = moved;
	}
}
