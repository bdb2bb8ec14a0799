/*
 * coord_steps - steps are given out, and what comes of them.
 */
#ifndef PS_COORD_STEPS_H
#define PS_COORD_STEPS_H

#include "coord/coord_private.h"

struct member;

/* Give out what there is. */
void steps_give_out(struct coord *);
/* No step at or over it is begun now. */
uint64_t steps_limit(const struct coord *);
void steps_take_back(struct coord *, struct member *);
int steps_done(struct coord *, struct member *, const struct message *,
	       uint64_t now_ms, struct fail *);
/* The servers have committed a round. */
void steps_committed(struct coord *, uint64_t now_ms);
/* An error of the step's own making: it is given up, and all that waits. */
void steps_failed(struct coord *, struct member *, const struct message *);

#endif
