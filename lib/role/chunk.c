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

struct chunk *
chunk_new(size_t size, size_t slots)
{
	struct chunk *c = chunk_blank(size, slots);

	memset(c->value, 0, size * (1 + slots) * sizeof(*c->value));
	return c;
}

/* On a line: the rows of a table lie on as few as they can. */
struct chunk *
chunk_blank(size_t size, size_t slots)
{
	struct chunk *c = mem_alloc(1, sizeof(*c));

	atomic_init(&c->hold.references, 1);
	c->hold.release = release;
	c->size = size;
	c->slots = slots;
	c->value = mem_lines(size * (1 + slots), sizeof(*c->value));
	return c;
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
