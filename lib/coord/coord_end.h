/*
 * coord_end - how the run ends.
 */
#ifndef PS_COORD_END_H
#define PS_COORD_END_H

#include "coord/coord_private.h"

void end_init(struct coord *);
void end_release(struct coord *);
/*
 * Ends the run now with this error (kind 0: without one), or leaves it to be
 * resumed, where its journal allows that.  end_without(): because a server is
 * gone.
 */
void end_fail(struct coord *, const struct fail *, uint64_t now_ms);
void end_without(struct coord *, const struct fail *, uint64_t now_ms);
/* All servers have acknowledged STOP or BYE. */
void end_servers_notified(struct coord *);
/* A signal stops or suspends the run; or its results cannot be written any
   more (see coord_output_closed()).  false: the run has ended at once. */
bool end_ask(struct coord *, uint64_t now_ms);
bool end_output_closed(struct coord *, const struct fail *, bool again,
		       uint64_t now_ms);
/* A run that drains: when all that is under way has ended, gives up the
   rest. */
void end_drain(struct coord *);
/* A run that is suspended: when all that was begun has ended and is saved,
   leaves it to be resumed. */
void end_suspended(struct coord *);
/* Ends a run whose grace is over, or whose servers leave while it is
   suspended: whoever sent the signal will not wait longer. */
void end_check_drain(struct coord *, uint64_t now_ms);
/* Makes the final checkpoint, then tells all members to stop. */
void end_run(struct coord *, uint64_t now_ms);
/*
 * Had the run that is resumed nothing left to do but to tell its members to
 * stop?  Then servers that are gone were told, and new ones in their places
 * are not this run's.
 */
bool end_nothing_left(const struct coord *);
/* Returns how long servers are waited for, at most: ms, or less if nothing is
   left to do. */
uint64_t end_patience(const struct coord *, uint64_t ms);
/* Ends a run that stops, when all members have left or their time is over. */
void end_check_over(struct coord *, uint64_t now_ms);

#endif
