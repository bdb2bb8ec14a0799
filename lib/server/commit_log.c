#include "server/commit_log.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void
release(struct refcount *hold)
{
	free(hold);		/* its first member */
}

void
commit_log_release(struct commit_log *c)
{
	struct change *one;

	while ((one = c->first)) {
		c->first = one->next;
		refcount_drop(&one->hold);
	}
}

/* Append bytes at *to, and move *to behind them.  Returns where they lie. */
static const void *
append_bytes(char **to, const void *bytes, size_t size)
{
	char *at = *to;

	if (size > 0)
		memcpy(at, bytes, size);
	*to += size;
	return at;
}

const struct change *
commit_log_add(struct commit_log *c, uint64_t peer, const struct message *m)
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
	one->message.blob.data = append_bytes(&to, m->blob.data, m->blob.size);
	for (size_t i = 0; i < m->frames; i++) {
		struct frame *frame = &one->message.frame[i];

		frame->data = append_bytes(&to, frame->data, frame->size);
		frame->hold = &one->hold;
	}
	*(c->first ? c->end : &c->first) = one;
	c->end = &one->next;
	return one;
}

const struct change *
commit_log_find(const struct commit_log *c, uint64_t number)
{
	const struct change *one = c->first;

	while (one && one->number < number)
		one = one->next;
	return one && one->number == number ? one : NULL;
}

struct change *
commit_log_take(struct commit_log *c, uint64_t limit)
{
	struct change *one = c->first;

	if (!one || one->number > limit || (c->log && one->number > c->logged))
		return NULL;
	c->first = one->next;
	c->taken = one->number;
	return one;
}

void
commit_log_set_logged(struct commit_log *c, uint64_t number)
{
	c->log = true;
	c->logged = number;
}

bool
commit_log_hold(const struct commit_log *c)
{
	return c->log || c->first;
}

void
commit_log_begin(struct commit_log *c, uint64_t number)
{
	commit_log_release(c);
	c->last = c->taken = number;
}

/* ---- what always holds ---- */

const char *
commit_log_check(const struct commit_log *c, const uint64_t *limit)
{
	const struct change *one = c->first;

	if (c->taken > c->last || (one && one->number != c->taken + 1))
		return "server 6: changes are answered in their order, and "
			"none is left out";
	if (c->log && c->taken > c->logged)
		return "server 7: no change is answered before it is in the "
			"log";
	if (one && limit && one->number <= *limit &&
	    (!c->log || one->number <= c->logged))
		return "server 9: a change that may be answered does not wait";
	return NULL;
}
