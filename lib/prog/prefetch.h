/*
 * prefetch - read batches in a thread of their own, a few ahead.
 *
 * So that a slow input (a pipe, say) holds up neither messages nor steps.
 */
#ifndef PS_PREFETCH_H
#define PS_PREFETCH_H

#include "data/reader.h"
#include "model/model.h"

struct prefetch;

/*
 * Read files for a data set of a model, which is borrowed.  NULL: they cannot
 * be opened; with pipes and standard input, which may make us wait for their
 * first bytes already, that is found out on the way and told by prefetch_end().
 */
struct prefetch *prefetch_open(const struct model *, size_t dataset,
			       char *const *files, size_t count,
			       const struct reader_options *, struct fail *);
void prefetch_close(struct prefetch *);

/*
 * The next batch of up to n examples, swapped with one whose room can be used
 * again.  1: here it is; 0: not yet, prefetch_fd() becomes readable when it
 * is; -1: the end, or a failure: prefetch_end() tells.
 */
int prefetch_take(struct prefetch *, size_t n, struct batch *);

/* The same into a batch of all inputs of the model. */
int prefetch_take_into(struct prefetch *, size_t n, struct batch *);

/* One that was taken is not wanted yet: its examples come first again. */
void prefetch_put_back(struct prefetch *, const struct batch *);
int prefetch_fd(const struct prefetch *);

/* 0: the data ended after so many records; -1: they cannot be read. */
int prefetch_end(const struct prefetch *, uint64_t *records, struct fail *);

#endif
