#include "server/pull_keys.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static struct pulled_keys **
find(struct pull_keys *r, uint64_t peer, uint64_t request)
{
	struct pulled_keys **at = &r->bucket[rng_at(peer, 0, request) %
					  PULL_KEYS_BUCKETS];

	while (*at && ((*at)->peer != peer || (*at)->request != request))
		at = &(*at)->next;
	return at;
}

struct pulled_keys *
pull_keys_take(struct pull_keys *r, uint64_t peer, uint64_t request)
{
	struct pulled_keys **at = find(r, peer, request), *one = *at;

	if (!one)
		return NULL;
	*at = one->next;
	*(one->older ? &one->older->newer : &r->oldest) = one->newer;
	*(one->newer ? &one->newer->older : &r->newest) = one->older;
	r->bytes -= one->keys.size;
	return one;
}

static void
forget_oldest(struct pull_keys *r)
{
	free(pull_keys_take(r, r->oldest->peer, r->oldest->request));
}

void
pull_keys_release(struct pull_keys *r)
{
	while (r->oldest)
		forget_oldest(r);
}

void
pull_keys_keep(struct pull_keys *r, uint64_t peer, uint64_t request,
	       const struct frame *keys)
{
	struct pulled_keys *one;

	if (keys->size < WIRE_RECALL || keys->size > PULL_KEYS_BYTES)
		return;
	free(pull_keys_take(r, peer, request));
	while (r->bytes + keys->size > PULL_KEYS_BYTES)
		forget_oldest(r);
	one = mem_resize(NULL, 1, sizeof(*one) + keys->size);
	*one = (struct pulled_keys){ .peer = peer, .request = request,
				     .older = r->newest,
				     .keys = { one + 1, keys->size, NULL } };
	memcpy(one + 1, keys->data, keys->size);
	*find(r, peer, request) = one;
	*(r->newest ? &r->newest->newer : &r->oldest) = one;
	r->newest = one;
	r->bytes += keys->size;
}
