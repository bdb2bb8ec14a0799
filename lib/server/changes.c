#include "server/changes.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void
release(struct hold *hold)
{
	free(hold);		/* its first member */
}

void
changes_release(struct changes *c)
{
	struct change *one;

	while ((one = c->first)) {
		c->first = one->next;
		hold_drop(&one->hold);
	}
}

/* Copy bytes to where the next ones go. */
static const void *
keep(char **to, const void *bytes, size_t size)
{
	char *at = *to;

	if (size > 0)
		memcpy(at, bytes, size);
	*to += size;
	return at;
}

const struct change *
changes_add(struct changes *c, uint64_t peer, const struct message *m)
{
	size_t size = m->blob.size;
	struct change *one;
	char *to;

	for (size_t i = 0; i < m->frames; i++)
		size += m->frame[i].size;
	one = mem_resize(NULL, 1, sizeof(*one) + size);
	*one = (struct change){ .number = ++c->last, .peer = peer,
				.message = *m };
	atomic_init(&one->hold.references, 1);
	one->hold.release = release;
	to = (char *)(one + 1);
	one->message.blob.data = keep(&to, m->blob.data, m->blob.size);
	for (size_t i = 0; i < m->frames; i++) {
		struct frame *frame = &one->message.frame[i];

		frame->data = keep(&to, frame->data, frame->size);
		frame->hold = &one->hold;
	}
	*(c->first ? c->end : &c->first) = one;
	c->end = &one->next;
	return one;
}

const struct change *
changes_find(const struct changes *c, uint64_t number)
{
	const struct change *one = c->first;

	while (one && one->number < number)
		one = one->next;
	return one && one->number == number ? one : NULL;
}

struct change *
changes_take(struct changes *c, uint64_t limit)
{
	struct change *one = c->first;

	if (!one || one->number > limit || (c->log && one->number > c->logged))
		return NULL;
	c->first = one->next;
	c->taken = one->number;
	return one;
}

void
changes_set_logged(struct changes *c, uint64_t number)
{
	c->log = true;
	c->logged = number;
}

bool
changes_hold(const struct changes *c)
{
	return c->log || c->first;
}

void
changes_begin(struct changes *c, uint64_t number)
{
	changes_release(c);
	c->last = c->taken = number;
}

/* ---- what always holds ---- */

const char *
changes_check(const struct changes *c, const uint64_t *limit)
{
	const struct change *one = c->first;

	if (c->taken > c->last || (one && one->number != c->taken + 1))
		return "server 6: changes are acted on in their order, and "
			"none is left out";
	if (c->log && c->taken > c->logged)
		return "server 7: nothing is acted on before it is in the log";
	if (one && limit && one->number <= *limit &&
	    (!c->log || one->number <= c->logged))
		return "server 9: what may be acted on does not wait";
	return NULL;
}
