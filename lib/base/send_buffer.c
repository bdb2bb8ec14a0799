#include "base/send_buffer.h"

#include "base/mem.h"

#include <stdlib.h>

static void
release(struct refcount *hold)
{
	free(hold);		/* the first member of the block */
}

void
send_buffer_free(struct send_buffer **p)
{
	if (*p)
		refcount_drop(&(*p)->hold);
	*p = NULL;
}

float *
send_buffer_room(struct send_buffer **p, size_t n)
{
	struct send_buffer *x = *p;

	if (x && n <= x->room && refcount_alone(&x->hold))
		return x->at;
	send_buffer_free(p);
	/* The next call will need about as much, or a little more. */
	n += n / 8;
	x = *p = mem_resize(NULL, 1, sizeof(*x) + n * sizeof(float));
	atomic_init(&x->hold.references, 1);
	x->hold.release = release;
	x->room = n;
	return x->at;
}
