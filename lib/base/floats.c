#include "base/floats.h"

#include "base/mem.h"

#include <stdlib.h>

static void
release(struct hold *hold)
{
	free(hold);		/* its first member */
}

void
floats_free(struct floats **p)
{
	if (*p)
		hold_drop(&(*p)->hold);
	*p = NULL;
}

float *
floats_room(struct floats **p, size_t n)
{
	struct floats *x = *p;

	if (x && n <= x->room && hold_alone(&x->hold))
		return x->at;
	floats_free(p);
	/* The next one will need about as much, or a little more. */
	n += n / 8;
	x = *p = mem_resize(NULL, 1, sizeof(*x) + n * sizeof(float));
	atomic_init(&x->hold.references, 1);
	x->hold.release = release;
	x->room = n;
	return x->at;
}
