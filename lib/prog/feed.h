/*
 * feed - bring a worker the batches that it wants.
 *
 * For steps its own inputs, or blocks that the coordinator leases, for
 * evaluations other files (or the same again); all are read ahead (see
 * prefetch and blocks).
 */
#ifndef PS_FEED_H
#define PS_FEED_H

#include "prog/inputs.h"
#include "worker/worker.h"

#include <poll.h>

struct feed;

struct feed_options {
	/* Of each data set that has files, borrowed; the first one is that
	   without a name, though it may have none.  Their seeds are the feed's
	   to set. */
	struct input_files *input;
	size_t inputs;
	uint64_t life, index;		/* of the worker */
};

struct feed *feed_new(struct worker *, const struct feed_options *);
void feed_free(struct feed *);

/* What to wait for beside messages; returns how many, FEED_FDS at most. */
#define FEED_FDS	(2 + INPUTS_FDS)
size_t feed_fds(const struct feed *, struct pollfd *);

/* Give the worker what it wants, as far as it has been read. */
void feed_steps(struct feed *);
void feed_evaluation(struct feed *);

/* -1, with the reason, if a step had to fail as its data cannot be read. */
int feed_failure(const struct feed *, struct fail *);

#endif
