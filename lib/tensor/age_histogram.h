/*
 * age_histogram - how many rows of a table were touched last by which update.
 *
 * Those of the newest updates are an array, for most rows are touched again
 * soon.  Of older updates only those are kept that rows are left of, in order.
 * So updates without number take no memory: it is bounded by the array, and
 * by 16 bytes for a row or two.
 */
#ifndef PS_AGE_HISTOGRAM_H
#define PS_AGE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGE_HISTOGRAM_NEW	((size_t)1 << 14)	/* the array */

struct age_histogram {		/* { 0 } is empty */
	uint64_t first;		/* the update that count[0] is of */
	uint64_t *count;
	size_t counts, room;
	size_t left;		/* no rows are left of count[] before this */
	struct age_histogram_old {
		uint64_t update, count;
	} *old;			/* of updates before the first */
	size_t olds, old_room;
	size_t old_left;	/* as left */
	size_t gone;		/* of them no rows are left */
	bool mixed;		/* they are not in order */
};

struct age_histogram age_histogram_copy(const struct age_histogram *);
void age_histogram_release(struct age_histogram *);

void age_histogram_add_other(struct age_histogram *, uint64_t update);
void age_histogram_take_old(struct age_histogram *, uint64_t update);

/* One more row of an update: mostly of the newest. */
static inline void
age_histogram_add(struct age_histogram *d, uint64_t update)
{
	const uint64_t at = update - d->first;

	if (update >= d->first && at < d->counts && at >= d->left)
		d->count[at]++;
	else
		age_histogram_add_other(d, update);
}

/* One fewer; there was one. */
static inline void
age_histogram_take(struct age_histogram *d, uint64_t update)
{
	if (update >= d->first)
		d->count[update - d->first]--;
	else
		age_histogram_take_old(d, update);
}

/*
 * Take away the rows of the oldest update that is before this one and has
 * any: how many, and which it was; 0: there is none.
 */
uint64_t age_histogram_forget(struct age_histogram *, uint64_t before,
			      uint64_t *update);

#endif
