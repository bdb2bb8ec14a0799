#include "shard/chunk.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LINE	64	/* bytes of a cache line */

static void
release(struct refcount *hold)
{
	free(hold);		/* its first member */
}

/*
 * Values begin at a cache line, so that the rows of a table lie on as few lines
 * as possible.  They are aligned by hand: glibc does not reuse a block of
 * aligned_alloc() that was freed for the next one of the same size.
 */
struct chunk *
chunk_blank(size_t size, size_t slots)
{
	struct chunk *c = mem_resize(NULL, 1, sizeof(*c) + LINE +
				     size * (1 + slots) * sizeof(*c->value));
	const uintptr_t end = (uintptr_t)(c + 1);

	atomic_init(&c->hold.references, 1);
	c->hold.release = release;
	c->size = size;
	c->slots = slots;
	c->value = (float *)((end + LINE - 1) / LINE * LINE);
	return c;
}

void
chunk_writable(struct chunk **c)
{
	struct chunk *old = *c;

	if (refcount_alone(&old->hold))
		return;
	*c = chunk_blank(old->size, old->slots);
	memcpy((*c)->value, old->value,
	       old->size * (1 + old->slots) * sizeof(*old->value));
	refcount_drop(&old->hold);
}
