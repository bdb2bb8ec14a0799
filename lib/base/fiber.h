/*
 * fiber - a function that can wait for something while its caller goes on.
 *
 *	ended = fiber_call(f, work, arg);
 *	... while it has not ended ...
 *	if (fiber_can_go_on(f))
 *		ended = fiber_go_on(f);
 *
 * The function, or any function that it calls, waits by fiber_wait().  It has a
 * stack of its own, but runs in the thread of its caller, and only while the
 * caller waits for it: nothing needs a lock.
 */
#ifndef PS_FIBER_H
#define PS_FIBER_H

#include <stdbool.h>

struct fiber;

struct fiber *fiber_new(void);
/* Free it; a function that still waits is given up, and runs to its end. */
void fiber_free(struct fiber *);

/*
 * Begin work(arg), or go on with it where it waits.  Return whether it has
 * ended; false: it waits.  At most one function is under way.
 */
bool fiber_call(struct fiber *, void (*work)(void *arg), void *arg);
bool fiber_go_on(struct fiber *);

/* Return whether a function is under way, and whether it can go on. */
bool fiber_is_busy(const struct fiber *);
bool fiber_can_go_on(const struct fiber *);

/*
 * Let no more of its waits come to their ends, and each further one be over at
 * once: nobody wants what the function computes.
 */
void fiber_give_up(struct fiber *);

/*
 * Within such a function: wait until is_over(of).  Return false if it was given
 * up before.  In any other function return true at once: it has to wait in a
 * way of its own.
 */
bool fiber_wait(bool (*is_over)(const void *of), const void *of);
/* Return whether the function at hand was given up. */
bool fiber_is_given_up(void);

#endif
