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
 * Advances an evaluation: begins it, if none is under way, and gives a shard to
 * each worker that has none.  The request is borrowed until the evaluation is
 * over.  It scores a cut; or, with NULL, the live model, for the barrier at the
 * front of the queue.  Returns
 *
 *	RUNS		it is not over
 *	DONE		it is over, and its result has been reported
 *	FAILED		one of a cut has failed: see evaluate_report_failure()
 *	CUT_LOST	servers no longer have the cut
 *
 * One of the live model that fails is reported at once, and its request passed.
 */
struct evaluation_cut {
	uint64_t number, step;
};
enum evaluation_state { EVALUATION_RUNS, EVALUATION_DONE, EVALUATION_FAILED,
			EVALUATION_CUT_LOST };
enum evaluation_state evaluate_advance(struct coord *, const struct request *,
				       const struct evaluation_cut *,
				       uint64_t now_ms);
/* Reports the error of the evaluation that has FAILED, and copies it to
   *why. */
void evaluate_report_failure(struct coord *, struct fail *why);
/* Gives up the evaluation under way. */
void evaluate_give_up(struct coord *);
/* The worker died: if it was scoring a shard under which QUEUE_DEATHS have
   died, the evaluation fails (FAIL_DATA). */
void evaluate_died(struct coord *, const struct member *);
void evaluate_join(struct coord *, const struct member *);
const char *evaluate_check(const struct coord *);
/* The worker is gone: takes back its shard, for another worker. */
void evaluate_take_back(struct coord *, struct member *);
/* A worker has scored its shard (EVALUATED); -1: FAIL_PROTOCOL. */
int evaluate_done(struct coord *, struct member *, const struct message *,
		  struct fail *);
/* The worker could not (REFUSED): bad data, no such file; or the cut is
   lost. */
void evaluate_refused(struct coord *, struct member *,
		      const struct message *);

#endif
