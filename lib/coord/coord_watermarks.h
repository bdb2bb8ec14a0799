/*
 * coord_watermarks - which steps servers are told to have ended.
 */
#ifndef PS_COORD_WATERMARKS_H
#define PS_COORD_WATERMARKS_H

#include "coord/coord_private.h"

void watermarks_init(struct coord *);
void watermarks_release(struct coord *);
/* Tell those whose low watermark has moved, if it is time to. */
void watermarks_notify(struct coord *, uint64_t now_ms);
/* They have acknowledged theirs, or begun with others. */
void watermarks_notified(struct coord *);
/* The least one that any of them has. */
uint64_t watermarks_lowest(const struct coord *);
const char *watermarks_check(const struct coord *);

#endif
