/*
 * coord_background - evaluations in the background.
 */
#ifndef PS_COORD_BACKGROUND_H
#define PS_COORD_BACKGROUND_H

#include "coord/coord_private.h"

void background_init(struct coord *);
void background_release(struct coord *);
/* Begins the evaluation whose turn has come, if there is one: servers are
   asked for its cut (FREEZE). */
void background_begin(struct coord *);
/* Scores the evaluations whose cuts are whole, one at a time, in the order in
   which they began; and begins the next one. */
void background_advance(struct coord *, uint64_t now_ms);
/* All servers have answered FREEZE for the cut of this number.  why: one of
   them could not, and the evaluation fails; NULL: none failed. */
void background_frozen(struct coord *, uint64_t cut, const struct fail *why);
/* Steps below a cut were given up, and their work is done again under other
   numbers: an evaluation whose cut waits for steps gets a new cut. */
void background_spoil(struct coord *);
/* A new term has lost all cuts: evaluations that have begun begin again. */
void background_lose(struct coord *);
/* Gives up all that have begun, and their cuts; their requests stay in the
   queue. */
void background_give_up(struct coord *);
/*
 * Cancels the owner's evaluations of this id (JSON), begun or not, and calls
 * tell for each of them, with 0 steps.  Returns how many there were.
 */
size_t background_cancel(struct coord *, size_t owner, const char *id,
			 void (*tell)(void *coord, const struct request *,
				      uint64_t steps));
/* Is an evaluation being scored? */
bool background_scores(const struct coord *);
const char *background_check(const struct coord *);

#endif
