/*
 * prefetch - read batches a few ahead, in a thread of their own, so that a slow
 * input (a pipe, for example) holds up neither messages nor steps.
 */
#ifndef PS_PREFETCH_H
#define PS_PREFETCH_H

#include "data/reader.h"
#include "model/model.h"

struct prefetch;

/*
 * Read files for a data set of a model, which is borrowed.  Return NULL with
 * the reason if they cannot be opened.  Pipes and standard input may block
 * until their first bytes, so they are opened in the thread, and prefetch_end()
 * reports a failure.  The caller closes it.
 */
struct prefetch *prefetch_open(const struct model *, size_t dataset,
			       char *const *files, size_t count,
			       const struct reader_options *, struct fail *);
void prefetch_close(struct prefetch *);

/*
 * Take the next batch of up to n examples, swapped with *batch, whose memory is
 * reused.  Return 1; 0 if it has not been read yet, and prefetch_fd() becomes
 * readable when it has; -1 at the end or on a failure, see prefetch_end().
 */
int prefetch_take(struct prefetch *, size_t n, struct batch *);

/* Take it into a batch of all inputs of the model. */
int prefetch_take_into(struct prefetch *, size_t n, struct batch *);

/* Put back a batch that is not wanted yet: its examples come first again. */
void prefetch_put_back(struct prefetch *, const struct batch *);
int prefetch_fd(const struct prefetch *);

/*
 * Return 0 if the data ended, and set *records to the number read; -1 with the
 * reason if they cannot be read.
 */
int prefetch_end(const struct prefetch *, uint64_t *records, struct fail *);

#endif
