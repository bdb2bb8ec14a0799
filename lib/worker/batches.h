/*
 * batches - what a worker has read for its next step: one batch at most; and
 * whether more can be read.
 */
#ifndef PS_BATCHES_H
#define PS_BATCHES_H

#include "base/fail.h"
#include "model/batch.h"

#define BATCHES_NO_LEASE	0	/* an early step has none yet */

struct batches;

struct batches *batches_new(void);
void batches_free(struct batches *);

/* The model is known: this is what it reads. */
void batches_begin(struct batches *, const struct input *, size_t inputs,
		   const struct input *label);

/* None is there, and the data have not ended. */
bool batches_want(const struct batches *);

/*
 * Here it is, read for that lease, for which so many examples were asked for.
 * Its contents are swapped with an old one's, as by all of these.
 */
void batches_put(struct batches *, struct batch *, uint64_t asked,
		 uint64_t lease);

/* One is there, for that lease. */
bool batches_have(const struct batches *, uint64_t *lease);

/*
 * A step of so many examples of these data sets takes it: BATCH_TAKEN; or
 * rejects it, for it was asked for with another number, or is of others.
 */
enum batch_fit { BATCH_NONE, BATCH_TAKEN, BATCH_REJECTED };
enum batch_fit batches_take(struct batches *, struct batch *, uint64_t asked,
			    uint64_t datasets);

/* Its lease is no more: another one has it, or nobody. */
void batches_assign(struct batches *, uint64_t lease);
void batches_drop(struct batches *);

/* It is to go back to where it was read; none is there, and this one is. */
void batches_reject(struct batches *);
void batches_return(struct batches *, struct batch *);
/* That one, if there is any; it comes first in those to be read next. */
bool batches_put_back(struct batches *, struct batch *);

/* No more can be read, but so many records were; why may be NULL. */
void batches_end(struct batches *, uint64_t records, const struct fail *why);
/* All before the end is gone; *why has no kind if nothing is wrong. */
bool batches_ended(const struct batches *, const struct fail **why);

/*
 * So the worker has no more steps to begin.  That is reported once in every
 * term: true, if it was not yet.
 */
void batches_exhaust(struct batches *);
bool batches_are_exhausted(const struct batches *);
bool batches_report(struct batches *, uint64_t *records);
void batches_begin_term(struct batches *);

/* NULL, or what does not hold; see worker_check(). */
const char *batches_check(const struct batches *);

#endif
