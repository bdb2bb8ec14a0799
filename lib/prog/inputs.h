/*
 * inputs - a worker's own data: what is read of each data set, a batch ahead.
 */
#ifndef PS_INPUTS_H
#define PS_INPUTS_H

#include "data/reader.h"
#include "model/model.h"

#include <poll.h>

struct inputs;

/* The files of a data set; all borrowed. */
struct input_files {
	const char *name;		/* of the data set; "" */
	char **file;
	size_t count, room;
	struct reader_options reader;
	uint64_t batch;			/* examples; 0: as many as are asked
					   for */
};

/* Both are borrowed.  NULL: the model has no such data set: FAIL_USAGE. */
struct inputs *inputs_new(const struct model *, const struct input_files *,
			  size_t count, struct fail *);
void inputs_free(struct inputs *);

/*
 * So many examples of each of these data sets (a bit for each), swapped with a
 * batch of all inputs, which has none of others then.  1: here they are; 0: not
 * yet, see inputs_fds(); -1: one of them has ended, or cannot be read:
 * inputs_end() tells.
 */
int inputs_take(struct inputs *, uint64_t datasets, size_t examples,
		struct batch *);
/* What was taken is not wanted yet: it comes first again. */
void inputs_put_back(struct inputs *, struct batch *);

/* What to wait for; returns how many, INPUTS_FDS at most. */
#define INPUTS_FDS	32
size_t inputs_fds(const struct inputs *, struct pollfd *);

/* 0: after so many records it ended; -1: it cannot be read. */
int inputs_end(const struct inputs *, uint64_t *records, struct fail *);

#endif
