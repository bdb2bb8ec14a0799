/*
 * coord_end - how the run ends.
 */
#ifndef PS_COORD_END_H
#define PS_COORD_END_H

#include "coord/coord_private.h"

void end_init(struct coord *);
void end_release(struct coord *);
/* The run ends with this error, now; or so it does without a server. */
void end_fail(struct coord *, const struct fail *, uint64_t now_ms);
void end_without(struct coord *, const struct fail *, uint64_t now_ms);
/* All servers have been told to stop. */
void end_servers_notified(struct coord *);
/* Asked to stop; or its results cannot be written any more.  false: that has
   ended it at once. */
bool end_ask(struct coord *, uint64_t now_ms);
bool end_output_closed(struct coord *, const struct fail *, bool again,
		       uint64_t now_ms);
/* Asked to stop: when what is under way has ended, the rest is given up. */
void end_drain(struct coord *);
/* Asked to suspend it: when what was begun has ended and is saved, it is
   left. */
void end_suspended(struct coord *);
/* Peers may be away or stopped: whoever asked us to stop will not wait. */
void end_check_drain(struct coord *, uint64_t now_ms);
/* The last checkpoint, then everybody may go. */
void end_run(struct coord *, uint64_t now_ms);
/*
 * Who broke off had nothing left to do but to tell everybody to stop: servers
 * that are not there any more were told, and new ones in their places are
 * not ours.
 */
bool end_nothing_left(const struct coord *);
/* How long servers are waited for who are to be waited for so long. */
uint64_t end_patience(const struct coord *, uint64_t ms);
void end_check_over(struct coord *, uint64_t now_ms);

#endif
