/*
 * coord_watch - finds members that hang, and a run that stands still.
 */
#ifndef PS_COORD_WATCH_H
#define PS_COORD_WATCH_H

#include "coord/coord_private.h"

struct member;

void watch_init(struct coord *);
void watch_release(struct coord *);
/* Has leasing begun anew, so that a free worker may get a step of any
   stream? */
bool watch_any(const struct coord *);
const char *watch_check(const struct coord *, uint64_t now_ms);
/* Returns a member that has just been found to hang; a worker whose step takes
   longer than --step-timeout.  NULL: there is no other. */
struct member *watch_silent(struct coord *, uint64_t now_ms);
struct member *watch_late(struct coord *, uint64_t now_ms);
/* Warns of an ask of servers that takes longer than a lease. */
void watch_servers(struct coord *, uint64_t now_ms);
/* Finds out whether the run stands still: steps below limit wait, a worker is
   free, and nothing has been leased for a lease.  true: leasing must begin
   anew. */
bool watch_idle(struct coord *, uint64_t limit, uint64_t now_ms);
/*
 * Ends the run with an error when there is work that no worker can do for too
 * long: there is no worker, too few to begin, or all have used up their data.
 */
void watch_workers(struct coord *, uint64_t now_ms);
/* Begins that time anew. */
void watch_helped(struct coord *);
/* Have all workers gone, and will no others come? */
bool watch_forsaken(const struct coord *);
/* Makes room for a new member. */
void watch_join(struct coord *, const struct member *);
/* watch_asks(): a message was sent to the member, and an answer is awaited or
   not.  watch_answered(): the member has just come, nothing is awaited. */
void watch_asks(struct coord *, const struct member *, bool awaits,
		uint64_t now_ms);
void watch_answered(struct coord *, const struct member *);
/* Any message of a member came: it does not hang. */
void watch_hears(struct coord *, struct member *, uint64_t now_ms);
/* Forgives a pause in which the coordinator itself did not listen. */
void watch_skip_pause(struct coord *, uint64_t now_ms);
/* Notes the time of a step that was done. */
void watch_note(struct coord *, uint64_t microseconds);
/*
 * Returns for how many ms a worker has been at a step, *step; 0: at none.
 * *late: that is a hundred times the median of the newest steps.
 */
uint64_t watch_step(const struct coord *, const struct member *,
		    uint64_t now_ms, uint64_t *step, bool *late);

#endif
