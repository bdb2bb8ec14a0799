/*
 * coord_background - evaluations in the background.
 */
#ifndef PS_COORD_BACKGROUND_H
#define PS_COORD_BACKGROUND_H

#include "coord/coord_private.h"

void background_init(struct coord *);
void background_release(struct coord *);
/* One whose turn has come begins, if there is one. */
void background_begin(struct coord *);
/* Go on with those that have begun. */
void background_advance(struct coord *, uint64_t now_ms);
/* Servers have answered FREEZE for a cut of ours, which the number says. */
void background_frozen(struct coord *, uint64_t cut, const struct fail *why);
/* Steps below a cut were given up, and some of them are to be done again under
   other numbers: a cut that waits for them is made anew. */
void background_spoil(struct coord *);
/* Servers were lost, or the coordinator before us: so are all cuts. */
void background_lose(struct coord *);
/* All of them are given up; and those with this id of an owner, each of which
   is told: how many. */
void background_give_up(struct coord *);
size_t background_cancel(struct coord *, size_t owner, const char *id,
			 void (*tell)(void *coord, const struct request *,
				      uint64_t steps));
/* A shard waits for a worker, or is being scored. */
bool background_scores(const struct coord *);
const char *background_check(const struct coord *);

#endif
