/*
 * age_histogram - for each update of a table, the number of rows that it
 * touched last.
 *
 * The counts of the newest updates are an array, because most rows are touched
 * again soon.  An older update has an entry only while rows are left of it.  So
 * the memory does not grow with the number of updates: it is the array, and at
 * most about two entries of 16 bytes for each row.
 */
#ifndef PS_AGE_HISTOGRAM_H
#define PS_AGE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGE_HISTOGRAM_NEW	((size_t)1 << 14)	/* entries of count[],
							   at most */

struct age_histogram {		/* { 0 } is empty */
	uint64_t first;		/* the update of count[0] */
	uint64_t *count;
	size_t counts, room;
	size_t left;		/* count[] is 0 below this index */
	struct age_histogram_old {
		uint64_t update, count;
	} *old;			/* updates before first that have rows */
	size_t olds, old_room;
	size_t old_left;	/* the same for old[] */
	size_t gone;		/* entries of old[] whose count is 0 */
	bool mixed;		/* old[] is not sorted by update */
};

/* Return a copy, which the caller releases. */
struct age_histogram age_histogram_copy(const struct age_histogram *);
void age_histogram_release(struct age_histogram *);

/* The slow paths of the two functions below: call those. */
void age_histogram_add_other(struct age_histogram *, uint64_t update);
void age_histogram_take_old(struct age_histogram *, uint64_t update);

/*
 * Count one more row that this update touched last.  The update is mostly one
 * of the newest, which takes no call.
 */
static inline void
age_histogram_add(struct age_histogram *d, uint64_t update)
{
	const uint64_t at = update - d->first;

	if (update >= d->first && at < d->counts && at >= d->left)
		d->count[at]++;
	else
		age_histogram_add_other(d, update);
}

/* Count one row fewer for this update.  The row must have been counted. */
static inline void
age_histogram_take(struct age_histogram *d, uint64_t update)
{
	if (update >= d->first)
		d->count[update - d->first]--;
	else
		age_histogram_take_old(d, update);
}

/*
 * Remove all rows of the oldest update that has any, if it is older than
 * before.  Return the number of rows and set *update to that update; return 0,
 * and leave *update alone, if no update before it has rows.
 */
uint64_t age_histogram_forget(struct age_histogram *, uint64_t before,
			      uint64_t *update);

#endif
