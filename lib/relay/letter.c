#include "relay/letter.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void
release(struct refcount *hold)
{
	free(hold);		/* its first member */
}

struct letter *
letter_new(const struct message *m)
{
	size_t size = 0;
	struct letter *l;
	char *to;

	for (size_t i = 0; i < m->frames; i++)
		size += m->frame[i].size;
	l = mem_resize(NULL, 1, sizeof(*l) + size);
	*l = (struct letter){ .message = *m };
	atomic_init(&l->hold.references, 1);
	l->hold.release = release;
	to = (char *)(l + 1);
	for (size_t i = 0; i < m->frames; i++) {
		struct frame *frame = &l->message.frame[i];

		if (frame->size > 0)
			memcpy(to, frame->data, frame->size);
		*frame = (struct frame){ to, frame->size, &l->hold };
		to += frame->size;
	}
	return l;
}

void
letter_drop(struct letter *l)
{
	refcount_drop(&l->hold);
}
