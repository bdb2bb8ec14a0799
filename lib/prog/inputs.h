/* inputs - a worker's own data: batches of each data set, read ahead. */
#ifndef PS_INPUTS_H
#define PS_INPUTS_H

#include "data/reader.h"
#include "model/model.h"

#include <poll.h>

struct inputs;

/* The files of a data set; borrowed. */
struct input_files {
	const char *name;		/* of the data set; "" if it has none */
	char **file;
	size_t count, room;
	struct reader_options reader;
	uint64_t batch;			/* examples of a batch; 0: as many as
					   are asked for */
};

/*
 * Return the inputs of a model from count sets of files; both are borrowed, and
 * the caller frees the inputs.  NULL with FAIL_USAGE: the model has no such
 * data set.
 */
struct inputs *inputs_new(const struct model *, const struct input_files *,
			  size_t count, struct fail *);
void inputs_free(struct inputs *);

/*
 * Take this number of examples of each of these data sets (a bit for each) into
 * a batch of all inputs, which then has none of other data sets.  The memory of
 * the batch is swapped, not copied.  Return 1; 0 if they have not been read
 * yet, see inputs_fds(); -1 if a data set has ended or cannot be read, see
 * inputs_end().
 */
int inputs_take(struct inputs *, uint64_t datasets, size_t examples,
		struct batch *);
/* Put back a batch that is not wanted yet: its examples come first again. */
void inputs_put_back(struct inputs *, struct batch *);

/* Fill in what to wait for; return how many, at most INPUTS_FDS. */
#define INPUTS_FDS	32
size_t inputs_fds(const struct inputs *, struct pollfd *);

/*
 * Return 0 if the data ended, and set *records to the number read; -1 with the
 * reason if they cannot be read.
 */
int inputs_end(const struct inputs *, uint64_t *records, struct fail *);

#endif
