#include "tensor/age_histogram.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define FEW	64	/* empty entries that are not worth a compact() */

void
age_histogram_release(struct age_histogram *d)
{
	free(d->count);
	free(d->old);
	*d = (struct age_histogram){ 0 };
}

struct age_histogram
age_histogram_copy(const struct age_histogram *from)
{
	struct age_histogram d = *from;

	d.count = mem_copy(from->count, from->counts * sizeof(*d.count));
	d.room = from->counts;
	d.old = mem_copy(from->old, from->olds * sizeof(*d.old));
	d.old_room = from->olds;
	return d;
}

/* ---- old updates ---- */

static void
add_old(struct age_histogram *d, uint64_t update, uint64_t count)
{
	const uint64_t last = d->olds > 0 ? d->old[d->olds - 1].update : 0;

	if (d->olds > 0 && last == update) {
		d->gone -= d->old[d->olds - 1].count == 0;
		d->old[d->olds - 1].count += count;
		if (d->old_left == d->olds)
			d->old_left--;
		return;
	}
	d->mixed = d->mixed || last > update;
	d->old = mem_grow(d->old, d->olds, &d->old_room, sizeof(*d->old));
	d->old[d->olds++] = (struct age_histogram_old){ update, count };
}

static int
by_update(const void *left, const void *right)
{
	const struct age_histogram_old *a = left, *b = right;

	return a->update < b->update ? -1 : a->update > b->update;
}

/*
 * Sort the old updates, and merge entries of the same update.  Drop empty
 * entries.
 */
static void
compact(struct age_histogram *d)
{
	size_t olds = 0;

	if (d->mixed)
		qsort(d->old, d->olds, sizeof(*d->old), by_update);
	for (size_t i = 0; i < d->olds; i++) {
		if (d->old[i].count == 0)
			continue;
		if (olds > 0 && d->old[olds - 1].update == d->old[i].update)
			d->old[olds - 1].count += d->old[i].count;
		else
			d->old[olds++] = d->old[i];
	}
	d->olds = olds;
	d->old_left = d->gone = 0;
	d->mixed = false;
}

static void
compact_if_worth(struct age_histogram *d)
{
	if (d->mixed || d->gone > FEW + d->olds / 2)
		compact(d);
}

void
age_histogram_take_old(struct age_histogram *d, uint64_t update)
{
	const struct age_histogram_old key = { update, 0 };
	struct age_histogram_old *one;

	compact_if_worth(d);
	one = bsearch(&key, d->old, d->olds, sizeof(*d->old), by_update);
	if (--one->count == 0)
		d->gone++;
}

/* ---- new updates ---- */

/* Move the counts of the updates before first from the array to old[]. */
static void
move_old_counts(struct age_histogram *d, uint64_t first)
{
	const size_t past = first - d->first < d->counts ?
		(size_t)(first - d->first) : d->counts;

	for (size_t i = d->left; i < past; i++)
		if (d->count[i] > 0)
			add_old(d, d->first + i, d->count[i]);
	d->counts -= past;
	if (d->counts > 0)
		memmove(d->count, d->count + past,
			d->counts * sizeof(*d->count));
	d->left -= d->left < past ? d->left : past;
	d->first = first;
	compact_if_worth(d);
}

void
age_histogram_add_other(struct age_histogram *d, uint64_t update)
{
	if (d->counts == 0 && d->olds == 0)
		d->first = update;
	if (update < d->first) {
		add_old(d, update, 1);
		return;
	}
	if (update - d->first >= AGE_HISTOGRAM_NEW)
		move_old_counts(d, update - AGE_HISTOGRAM_NEW / 2);

	const size_t at = (size_t)(update - d->first);

	while (d->counts <= at) {
		d->count = mem_grow(d->count, d->counts, &d->room,
				    sizeof(*d->count));
		d->count[d->counts++] = 0;
	}
	d->count[at]++;
	if (at < d->left)
		d->left = at;
}

uint64_t
age_histogram_forget(struct age_histogram *d, uint64_t before, uint64_t *update)
{
	uint64_t rows;

	compact_if_worth(d);
	for (; d->old_left < d->olds; d->old_left++) {
		struct age_histogram_old *one = &d->old[d->old_left];

		if (one->count == 0)
			continue;
		if (one->update >= before)
			return 0;
		rows = one->count;
		*update = one->update;
		one->count = 0;
		d->gone++;
		return rows;
	}
	for (; d->left < d->counts && d->first + d->left < before; d->left++) {
		rows = d->count[d->left];
		if (rows == 0)
			continue;
		*update = d->first + d->left;
		d->count[d->left] = 0;
		return rows;
	}
	return 0;
}
