/*
 * crew - threads that share a piece of work and wait for each other.
 *
 * The members of a crew are numbered from 0.  Member 0 is the thread that calls
 * crew_run(); each other member is a thread of its own.  Results must not
 * depend on which member does which task.  A crew has at least 1 member; a NULL
 * crew has 1, and no thread.
 */
#ifndef PS_CREW_H
#define PS_CREW_H

#include "base/fail.h"

#include <stddef.h>

#define CREW_MOST	1024

struct crew;

/* Start members - 1 threads.  NULL: the system does not start that many
   (FAIL_MEMORY). */
struct crew *crew_new(size_t members, struct fail *);

/* End the threads; no work may be running. */
void crew_free(struct crew *);
size_t crew_members(const struct crew *);

/* Run work once for each member, all at the same time; return when all have
   ended. */
void crew_run(struct crew *, void (*work)(void *arg, size_t member), void *arg);

/* Enter and leave the part of work that only one member may do at a time. */
void crew_lock(struct crew *);
void crew_unlock(struct crew *);

/*
 * Give the calling member the next of count tasks, which are numbered from 0;
 * return count if all are given.  *next is the number of the next task, shared
 * by all members, and 0 at first.
 */
size_t crew_take(struct crew *, size_t *next, size_t count);

#endif
