#include "role/chunk.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void
release(struct hold *hold)
{
	struct chunk *c = (struct chunk *)hold;	/* its first member */

	free(c->value);
	free(c);
}

static struct chunk *
with_values(size_t size, size_t slots, float *value)
{
	struct chunk *c = mem_alloc(1, sizeof(*c));

	atomic_init(&c->hold.references, 1);
	c->hold.release = release;
	c->size = size;
	c->slots = slots;
	c->value = value;
	return c;
}

struct chunk *
chunk_new(size_t size, size_t slots)
{
	return with_values(size, slots, mem_alloc(size * (1 + slots),
						  sizeof(float)));
}

struct chunk *
chunk_blank(size_t size, size_t slots)
{
	return with_values(size, slots, mem_resize(NULL, size * (1 + slots),
						   sizeof(float)));
}

void
chunk_writable(struct chunk **c)
{
	struct chunk *old = *c;

	if (hold_alone(&old->hold))
		return;
	*c = chunk_blank(old->size, old->slots);
	memcpy((*c)->value, old->value,
	       old->size * (1 + old->slots) * sizeof(*old->value));
	hold_drop(&old->hold);
}
