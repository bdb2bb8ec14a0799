/*
 * coord_evaluate - evaluations by the workers.
 */
#ifndef PS_COORD_EVALUATE_H
#define PS_COORD_EVALUATE_H

#include "coord/coord_private.h"

struct member;

void evaluate_init(struct coord *);
void evaluate_release(struct coord *);
/*
 * Give a shard to each who has none; the request is borrowed until it is over.
 * The result of one that is DONE is told.  It is of a cut, or with NULL of the
 * live model: the barrier at the front, which is passed if it fails, so that
 * only one of a cut is FAILED here.
 */
struct evaluation_cut {
	uint64_t number, step;
};
enum evaluation_state { EVALUATION_RUNS, EVALUATION_DONE, EVALUATION_FAILED,
			EVALUATION_CUT_LOST };
enum evaluation_state evaluate_advance(struct coord *, const struct request *,
				       const struct evaluation_cut *,
				       uint64_t now_ms);
/* The last one, of a cut, has FAILED: that is told, and why. */
void evaluate_report_failure(struct coord *, struct fail *why);
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
