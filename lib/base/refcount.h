/*
 * refcount - counts the readers of a block of memory; the last one frees it.
 *
 * The count is the first member of the block.  A reader takes a reference, and
 * drops it when done, in any thread.  A writer may write while its own
 * reference is the only one; otherwise it takes fresh memory.
 */
#ifndef PS_REFCOUNT_H
#define PS_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>

struct refcount {
	atomic_int references;
	void (*release)(struct refcount *);	/* frees the block; called by
						   the last drop, in the thread
						   of that */
};

/* Take a reference; drop one, and release the block if it was the last. */
void refcount_take(struct refcount *);
void refcount_drop(struct refcount *);

/* Is the caller's reference the only one? */
bool refcount_alone(const struct refcount *);

#endif
