/*
 * coord_void - steps that are given up.
 */
#ifndef PS_COORD_VOID_H
#define PS_COORD_VOID_H

#include "coord/coord_private.h"

void void_init(struct coord *);
void void_release(struct coord *);
bool void_under_way(const struct coord *);	/* steps are given up */
bool void_is_aside(const struct coord *);	/* one is being set aside */
/* Is that the step for which all others are given up? */
bool void_is_of(const struct coord *, uint64_t step);
/* A step has an error of its own making; and what the next join tells of it,
   or NULL. */
void void_fail(struct coord *, uint64_t step, const char *worker,
	       const struct fail *);
const char *void_error(const struct coord *);
void void_error_told(struct coord *);
/* Give up every step under way: the servers first, then the queue. */
void void_begin(struct coord *);
/* Are there steps to be done before the rest is void? */
bool void_finishes(const struct coord *);
/* Tell the servers, if it is time to. */
void void_tell(struct coord *);
/* They refuse those steps from now on: say it. */
void void_done(struct coord *);
/*
 * When a new term has begun, which keeps out what was decided to be void.  No:
 * it was not yet, and what the term before may have pushed is to be done first.
 */
bool void_is_decided(const struct coord *);
/* One step more that is not worth its workers; and when they refuse it, which
   is what they were asked. */
void void_set_aside(struct coord *, uint64_t step);
bool void_is_answer(const struct coord *, const struct message *asked);
void void_aside_done(struct coord *);
/* Nothing more will be done: each request that waits is told. */
void void_give_up(struct coord *);
struct void_figures {
	uint64_t failed, aside;		/* steps, since we began */
};
struct void_figures void_figures(const struct coord *);
/* In the journal.  -1: it makes no sense. */
int void_read(struct coord *, struct unpack *);
void void_read_ended(struct coord *, uint64_t step);
void void_read_dropped(struct coord *);
/* All steps up to this one have a number. */
int void_number_up_to(struct coord *, uint64_t step);
void void_write_error(struct coord *);
int void_read_error(struct coord *, struct unpack *);
const char *void_check(const struct coord *);

#endif
