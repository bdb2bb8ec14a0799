/*
 * coord_evaluate - evaluations by the workers.
 */
#ifndef PS_COORD_EVALUATE_H
#define PS_COORD_EVALUATE_H

#include "coord/coord_private.h"

struct member;

void evaluate_init(struct coord *);
void evaluate_release(struct coord *);
/* It is at the front: give a shard to each who has none.  1: it is over. */
int evaluate_advance(struct coord *, const struct request *, uint64_t now_ms);
/* Nobody waits for it any more. */
void evaluate_give_up(struct coord *);
/* It died, perhaps while it scored a shard: if too many have, nobody can. */
void evaluate_died(struct coord *, const struct member *);
void evaluate_join(struct coord *, const struct member *);
const char *evaluate_check(const struct coord *);
void evaluate_take_back(struct coord *, struct member *);
int evaluate_done(struct coord *, struct member *, const struct message *,
		  struct fail *);
/* An evaluation that cannot be: bad data, no such file. */
void evaluate_refused(struct coord *, struct member *,
		      const struct message *);

#endif
