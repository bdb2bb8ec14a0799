/*
 * coord_watch - who hangs, and that nothing stands still.
 */
#ifndef PS_COORD_WATCH_H
#define PS_COORD_WATCH_H

#include "coord/coord_private.h"

struct member;

void watch_init(struct coord *);
void watch_release(struct coord *);
/* Has leasing to begin anew, so that a free worker may get any step? */
bool watch_any(const struct coord *);
const char *watch_check(const struct coord *, uint64_t now_ms);
/* One that has just been found to hang; or a worker whose step takes so long
   that another gets it; or NULL: nobody else. */
struct member *watch_silent(struct coord *, uint64_t now_ms);
struct member *watch_late(struct coord *, uint64_t now_ms);
/* What servers were asked is not to take long without a word. */
void watch_servers(struct coord *, uint64_t now_ms);
/* Nothing is to stand still: true: leasing has to begin anew. */
bool watch_idle(struct coord *, uint64_t limit, uint64_t now_ms);
/*
 * Work, and nobody to do it: none is here, or too few to begin, or all have
 * used up their data.  That is an error, in time.
 */
void watch_workers(struct coord *, uint64_t now_ms);
void watch_helped(struct coord *);		/* or it is too early to tell */
bool watch_forsaken(const struct coord *);	/* by all workers there are */
void watch_join(struct coord *, const struct member *);
/* It was asked, for an answer or not; and it has just come. */
void watch_asks(struct coord *, const struct member *, bool awaits,
		uint64_t now_ms);
void watch_answered(struct coord *, const struct member *);
/* A member has said something. */
void watch_hears(struct coord *, struct member *, uint64_t now_ms);
void watch_excuse(struct coord *, uint64_t now_ms);
/* A step took so long. */
void watch_note(struct coord *, uint64_t microseconds);
/*
 * The step that a worker is at, and for how long it has been; 0: none.  late:
 * it takes a hundred times as long as others.
 */
uint64_t watch_step(const struct coord *, const struct member *,
		    uint64_t now_ms, uint64_t *step, bool *late);

#endif
