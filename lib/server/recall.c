#include "server/recall.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static struct recalled **
find(struct recall *r, uint64_t peer, uint64_t request)
{
	struct recalled **at = &r->bucket[rng_at(peer, 0, request) %
					  RECALL_BUCKETS];

	while (*at && ((*at)->peer != peer || (*at)->request != request))
		at = &(*at)->next;
	return at;
}

struct recalled *
recall_take(struct recall *r, uint64_t peer, uint64_t request)
{
	struct recalled **at = find(r, peer, request), *one = *at;

	if (!one)
		return NULL;
	*at = one->next;
	*(one->older ? &one->older->newer : &r->oldest) = one->newer;
	*(one->newer ? &one->newer->older : &r->newest) = one->older;
	r->bytes -= one->keys.size;
	return one;
}

static void
forget_oldest(struct recall *r)
{
	free(recall_take(r, r->oldest->peer, r->oldest->request));
}

void
recall_release(struct recall *r)
{
	while (r->oldest)
		forget_oldest(r);
}

void
recall_keep(struct recall *r, uint64_t peer, uint64_t request,
	    const struct frame *keys)
{
	struct recalled *one;

	if (keys->size < WIRE_RECALL || keys->size > RECALL_BYTES)
		return;
	free(recall_take(r, peer, request));
	while (r->bytes + keys->size > RECALL_BYTES)
		forget_oldest(r);
	one = mem_resize(NULL, 1, sizeof(*one) + keys->size);
	*one = (struct recalled){ .peer = peer, .request = request,
				  .older = r->newest,
				  .keys = { one + 1, keys->size, NULL } };
	memcpy(one + 1, keys->data, keys->size);
	*find(r, peer, request) = one;
	*(r->newest ? &r->newest->newer : &r->oldest) = one;
	r->newest = one;
	r->bytes += keys->size;
}
