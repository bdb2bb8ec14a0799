/*
 * crew - threads that share a piece of work and wait for each other.
 *
 * There are as many members as there are to be threads; the caller is one of
 * them, number 0.  Which member does what must not matter to the result.  The
 * number of members is at least 1; a crew that is NULL has 1, and no thread.
 */
#ifndef PS_CREW_H
#define PS_CREW_H

#include "base/fail.h"

#include <stddef.h>

#define CREW_MOST	1024

struct crew;

/* NULL: FAIL_MEMORY, the system begins no such number of threads. */
struct crew *crew_new(size_t members, struct fail *);
void crew_free(struct crew *);
size_t crew_members(const struct crew *);

/* Each member does this once, at the same time; back when all have. */
void crew_run(struct crew *, void (*work)(void *arg, size_t member), void *arg);

/* What only one of them does at a time is between these. */
void crew_lock(struct crew *);
void crew_unlock(struct crew *);

/* The next of so many tasks that no member has; count: there is no more.
   Counts from *next on, which is 0 at first. */
size_t crew_take(struct crew *, size_t *next, size_t count);

#endif
