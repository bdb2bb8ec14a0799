/*
 * live - the live model of a run, as it was after one step: its values for any
 * batch.
 *
 * What waits here hears what comes meanwhile, and does not wait on when the
 * program is told to stop (cli_stop).
 */
#ifndef PS_LIVE_H
#define PS_LIVE_H

#include "client/evaluator.h"

struct live;

/* Ask the run of these for its model.  The key is as for net_guard(). */
struct live *live_open(const struct evaluator_options *, const char *key,
		       struct fail *);
void live_close(struct live *);		/* what it holds is given back */

/* Wait for the model; NULL: it stopped, or cannot be had. */
const struct model *live_model(struct live *, struct fail *);

/* Wait for the step that is to be scored: the values are those after all
   steps below it. */
int live_step(struct live *, uint64_t *step, struct fail *);

/* Fill in the values that compute_begin() has found to be needed. */
int live_fill(struct live *, struct compute *, struct fail *);

/* Wait until something happens here, or this can be read. */
int live_wait(struct live *, int fd, struct fail *);

#endif
