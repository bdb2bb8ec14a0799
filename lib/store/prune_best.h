/*
 * prune_best - keeps the checkpoints of a folder that are the best by a metric.
 */
#ifndef PS_PRUNE_BEST_H
#define PS_PRUNE_BEST_H

#include "base/fail.h"

#include <stddef.h>

/*
 * Keep the best whole checkpoints of dir, keep of them (1 or more), and remove
 * others.
 * The file at path has a line of JSON, as ps-eval(1) prints it, for each
 * checkpoint that was scored.  If the name of the metric has "loss", "error" or
 * "crossentropy" in it, a low value is good, else a high one.  Two kinds stay
 * in any case: checkpoints without a line, and the newest whole one of a run
 * that has not ended.  Return 0, or -1: FAIL_DATA if no line is about the
 * metric.
 */
int prune_best(const char *dir, const char *metric, const char *path,
	       size_t keep, struct fail *);

#endif
