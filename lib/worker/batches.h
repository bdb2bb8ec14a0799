/*
 * batches - the batch, at most one, that a worker has read for its next step;
 * and whether more can be read.
 *
 * A batch changes hands by a swap: the giver gets an old batch, whose memory
 * it can use again.
 */
#ifndef PS_BATCHES_H
#define PS_BATCHES_H

#include "base/fail.h"
#include "model/batch.h"

#define BATCHES_NO_LEASE	0	/* of a step that is prefetched */

struct batches;

struct batches *batches_new(void);
void batches_free(struct batches *);

/* Sets the inputs and the label that the model reads. */
void batches_begin(struct batches *, const struct input *, size_t inputs,
		   const struct input *label);

/* True if no batch is there and the data have not ended. */
bool batches_want(const struct batches *);

/*
 * Puts a batch that was read for this lease.  asked is the number of examples
 * that were asked for; the batch may have fewer.
 */
void batches_put(struct batches *, struct batch *, uint64_t asked,
		 uint64_t lease);

/* True if a batch is there; *lease is the one that it was read for. */
bool batches_have(const struct batches *, uint64_t *lease);

/*
 * Takes the batch for a step of that many examples of these data sets.
 * BATCH_REJECTED: it was asked for with another number, or is of other data
 * sets, and is to be put back; BATCH_NONE: no batch is ready.
 */
enum batch_fit { BATCH_NONE, BATCH_TAKEN, BATCH_REJECTED };
enum batch_fit batches_take(struct batches *, struct batch *, uint64_t asked,
			    uint64_t datasets);

/* When the lease of the batch has gone: gives the batch to another lease, or
   drops it. */
void batches_assign(struct batches *, uint64_t lease);
void batches_drop(struct batches *);

/* Reject the batch that is there; or, if none is there, this one, which was
   taken.  A rejected batch is to be read again. */
void batches_reject(struct batches *);
void batches_return(struct batches *, struct batch *);
/* Swaps out the rejected batch; false: there is none.  Its examples must be the
   first of those that are read next. */
bool batches_put_back(struct batches *, struct batch *);

/* Says that no more can be read, after that many records.  why: the data cannot
   be read; NULL: they have come to their end. */
void batches_end(struct batches *, uint64_t records, const struct fail *why);
/* True if the data have ended and no batch is left.  *why is that of
   batches_end(); it has no kind if nothing is wrong. */
bool batches_ended(const struct batches *, const struct fail **why);

/*
 * After the end of the data the worker begins no more steps: it is exhausted.
 * batches_report() is true once in every term, when that is to be reported, and
 * sets the number of records.
 */
void batches_exhaust(struct batches *);
bool batches_are_exhausted(const struct batches *);
bool batches_report(struct batches *, uint64_t *records);
void batches_begin_term(struct batches *);

/* NULL, or what does not hold; see worker_check(). */
const char *batches_check(const struct batches *);

#endif
