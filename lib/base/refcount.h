/*
 * refcount - memory that several read, and the last of them frees.
 *
 * It is the first member of what it holds.  Who reads for a while takes a
 * reference and drops it, in any thread; who wants to write may do so while
 * nobody else has one, and else takes fresh memory.
 */
#ifndef PS_REFCOUNT_H
#define PS_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>

struct refcount {
	atomic_int references;
	void (*release)(struct refcount *);	/* at the last drop; any
						   thread */
};

void refcount_take(struct refcount *);
void refcount_drop(struct refcount *);

/* Is the reference that we have the only one? */
bool refcount_alone(const struct refcount *);

#endif
