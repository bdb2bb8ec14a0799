/*
 * prune_best - which checkpoints of a folder are the best by a metric.
 */
#ifndef PS_PRUNE_BEST_H
#define PS_PRUNE_BEST_H

#include "base/fail.h"

#include <stddef.h>

/*
 * Remove those that path, lines of JSON with "checkpoint" and metrics as
 * ps-eval(1) prints them, ranks below the best keep (1 or more).  Low is
 * good for what is called a loss or an error, high for the rest.  What has no
 * line stays: nobody has judged it; so does the newest whole one of a run that
 * has not ended.
 */
int prune_best(const char *dir, const char *metric, const char *path,
	       size_t keep, struct fail *);

#endif
