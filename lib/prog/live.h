/*
 * live - the live model of a run, as it was after one step: its values for any
 * batch.
 *
 * A function that waits handles messages meanwhile, and returns early when the
 * program is told to stop (cli_stop).
 */
#ifndef PS_LIVE_H
#define PS_LIVE_H

#include "client/evaluator.h"

struct live;

/*
 * Ask the coordinator of these options for its model.  The key is as for
 * net_guard().  Return NULL with the reason on failure; the caller closes it.
 */
struct live *live_open(const struct evaluator_options *, const char *key,
		       struct fail *);
void live_close(struct live *);		/* its snapshot on the servers is
					   released */

/*
 * Wait for the model, which is borrowed; NULL: told to stop, or it cannot be
 * had (with the reason).
 */
const struct model *live_model(struct live *, struct fail *);

/*
 * Wait for the step to be scored, and set *step: the values are those after all
 * steps below it.  Return 0, or -1 with the reason.
 */
int live_step(struct live *, uint64_t *step, struct fail *);

/*
 * Set the values that a compute needs for its batch, after compute_begin().
 * Return 0, or -1 with the reason.
 */
int live_fill(struct live *, struct compute *, struct fail *);

/*
 * Wait until something happens, or fd can be read (-1: none).  Return 0, or -1
 * with the reason.
 */
int live_wait(struct live *, int fd, struct fail *);

#endif
