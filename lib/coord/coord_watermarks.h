/*
 * coord_watermarks - MARK: the step below which all steps have ended.
 */
#ifndef PS_COORD_WATERMARKS_H
#define PS_COORD_WATERMARKS_H

#include "coord/coord_private.h"

void watermarks_init(struct coord *);
void watermarks_release(struct coord *);
/* Sends MARK if a server's low watermark has risen by enough steps, or a while
   after the last one; and at once when it is known how many replicas a round
   has. */
void watermarks_notify(struct coord *, uint64_t now_ms);
/* Servers have acknowledged this MARK. */
void watermarks_acknowledged(struct coord *, const struct message *mark);
/* Recovery has set the low watermarks of servers. */
void watermarks_notified(struct coord *);
/* Returns the lowest low watermark that servers have acknowledged. */
uint64_t watermarks_lowest(const struct coord *);
const char *watermarks_check(const struct coord *);

#endif
