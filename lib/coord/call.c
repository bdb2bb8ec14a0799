#include "coord/call.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void
release(struct refcount *hold)
{
	struct call *c = (struct call *)hold;

	free(c->step);
	free(c->args);
	pack_release(&c->packed);
	free(c);
}

struct call *
call_new(const char *step, const char *args)
{
	struct call *c = mem_alloc(1, sizeof(*c));

	c->step = step ? mem_text(step) : NULL;
	c->args = args ? mem_text(args) : NULL;
	refcount_take(&c->hold);
	c->hold.release = release;
	pack_array(&c->packed, 2);
	pack_text(&c->packed, step ? step : "");
	pack_text(&c->packed, args ? args : "");
	return c;
}

struct call *
call_hold(struct call *c)
{
	if (c)
		refcount_take(&c->hold);
	return c;
}

void
call_drop(struct call *c)
{
	if (c)
		refcount_drop(&c->hold);
}

void
call_describe(const struct call *c, struct message *m)
{
	m->lease.call = c != NULL;
	if (c)
		m->frame[m->frames++] = (struct frame){ c->packed.data,
							c->packed.size, NULL };
}

size_t
call_size(const struct call *c)
{
	return c ? c->packed.size : 0;
}

bool
call_equal(const struct call *a, const struct call *b)
{
	if (a == b)
		return true;
	return a && b && a->packed.size == b->packed.size &&
		memcmp(a->packed.data, b->packed.data, a->packed.size) == 0;
}
