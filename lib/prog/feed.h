/*
 * feed - bring a worker the batches that it wants.
 *
 * Batches of steps come from the worker's own inputs, or from blocks that the
 * coordinator leases; those of evaluations from other files, or the same ones
 * again.  All are read ahead, in threads (see prefetch and blocks).
 */
#ifndef PS_FEED_H
#define PS_FEED_H

#include "prog/inputs.h"
#include "worker/worker.h"

#include <poll.h>

struct feed;

struct feed_options {
	/*
	 * The files of each data set that has some, borrowed.  The first one
	 * has no name, and perhaps no files.  The feed sets their seeds.
	 */
	struct input_files *input;
	size_t inputs;
	uint64_t life, index;		/* of the worker */
};

/* Return a feed for a worker, which is borrowed; the caller frees the feed. */
struct feed *feed_new(struct worker *, const struct feed_options *);
void feed_free(struct feed *);

/*
 * Fill in what to wait for besides messages; return how many, at most FEED_FDS.
 */
#define FEED_FDS	(1 + 2 * INPUTS_FDS)
size_t feed_fds(const struct feed *, struct pollfd *);

/* Give the worker the batches that it wants, as far as they have been read. */
void feed_steps(struct feed *);
void feed_evaluation(struct feed *);

/*
 * Return -1, with the reason, if a step had to fail because its data cannot be
 * read; else 0.
 */
int feed_failure(const struct feed *, struct fail *);

#endif
