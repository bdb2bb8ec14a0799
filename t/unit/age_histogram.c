/* Rows are counted by their last update as an array of all updates would count
   them, but in memory that the number of rows bounds. */
#include "tensor/age_histogram.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>

#define UPDATES	(5 * AGE_HISTOGRAM_NEW)
#define ROWS	300

static uint64_t count[UPDATES];		/* the expected counts */
static uint64_t date[ROWS];		/* of each row; 0: it is not there */

/* Removes the rows that were last updated before this update, from both. */
static bool
forget(struct age_histogram *d, uint64_t before)
{
	uint64_t oldest = 0, update = 0, rows;

	while (oldest < before && count[oldest] == 0)
		oldest++;
	rows = age_histogram_forget(d, before, &update);
	if (oldest == before)
		return rows == 0;
	if (rows != count[oldest] || update != oldest)
		return false;
	count[oldest] = 0;
	for (size_t i = 0; i < ROWS; i++)
		if (date[i] == oldest)
			date[i] = 0;
	return true;
}

static void
touch(struct age_histogram *d, size_t row, uint64_t update)
{
	if (date[row] > 0) {
		age_histogram_take(d, date[row]);
		count[date[row]]--;
	}
	age_histogram_add(d, update);
	count[update]++;
	date[row] = update;
}

/* Updates rows, some often and some never again; some updates have no rows. */
static bool
go_on(struct age_histogram *d, struct rng *rng, uint64_t from, uint64_t to)
{
	bool same = true;

	for (uint64_t update = from; update < to && same; update++) {
		if (rng_below(rng, 100000) == 0)
			update += rng_below(rng, 2 * AGE_HISTOGRAM_NEW);
		for (uint64_t n = rng_below(rng, 3); update < to && n > 0; n--)
			touch(d, rng_below(rng, 1 + rng_below(rng, ROWS)),
			      update);
		if (rng_below(rng, 50) == 0)
			same = forget(d, update - rng_below(rng, update));
	}
	return same && d->counts <= AGE_HISTOGRAM_NEW && d->olds <= 4 * ROWS;
}

static void
clear(struct age_histogram *d)
{
	age_histogram_release(d);
	for (size_t i = 0; i < UPDATES; i++)
		count[i] = 0;
	for (size_t i = 0; i < ROWS; i++)
		date[i] = 0;
}

int
main(void)
{
	struct age_histogram d = { 0 }, copy;
	struct rng rng = { 1, 0 };
	bool same = true;

	for (int i = 0; i < 20; i++) {
		same = same && go_on(&d, &rng, 1, UPDATES);
		clear(&d);
	}
	named(same, "rows are counted, and forgotten, by their last update");

	/* A checkpoint gives the rows in any order. */
	for (size_t i = 0; i < ROWS; i++)
		touch(&d, i, 1 + rng_below(&rng, 3 * AGE_HISTOGRAM_NEW));
	copy = age_histogram_copy(&d);
	age_histogram_release(&d);
	named(go_on(&copy, &rng, 3 * AGE_HISTOGRAM_NEW + 1, UPDATES),
	      "rows put in any order, as by a checkpoint, are counted alike");
	while (age_histogram_forget(&copy, UPDATES, &(uint64_t){ 0 }) > 0)
		;
	clear(&copy);

	/* An update far ahead of the others takes no more memory. */
	age_histogram_add(&d, 5);
	age_histogram_add(&d, (uint64_t)1 << 60);
	age_histogram_add(&d, 7);
	ok(d.room + d.old_room <= 2 * AGE_HISTOGRAM_NEW);
	ok(age_histogram_forget(&d, UINT64_MAX, &date[0]) == 1 &&
	   date[0] == 5 &&
	   age_histogram_forget(&d, UINT64_MAX, &date[0]) == 1 &&
	   date[0] == 7 &&
	   age_histogram_forget(&d, UINT64_MAX, &date[0]) == 1 &&
	   date[0] == (uint64_t)1 << 60 &&
	   age_histogram_forget(&d, UINT64_MAX, &date[0]) == 0);
	age_histogram_release(&d);
	return tap_done();
}
