/*
 * coord_status - figures, for people and for machines.
 */
#ifndef PS_COORD_STATUS_H
#define PS_COORD_STATUS_H

#include "coord/coord_private.h"

void status_init(struct coord *, const struct place *, size_t places);
void status_release(struct coord *);
/* Keeps the scores since the last join, as the totals are about to be reset. */
void status_keep_scores(struct coord *);

#endif
