/*
 * hold - memory that several read, and the last of them frees.
 *
 * It is the first member of what it holds.  Who reads for a while takes a
 * reference and drops it, in any thread; who wants to write may do so while
 * nobody else has one, and else takes fresh memory.
 */
#ifndef PS_HOLD_H
#define PS_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>

struct hold {
	atomic_int references;
	void (*release)(struct hold *);	/* at the last drop; any thread */
};

void hold_take(struct hold *);
void hold_drop(struct hold *);

/* Is the reference that we have the only one? */
bool hold_alone(const struct hold *);

#endif
