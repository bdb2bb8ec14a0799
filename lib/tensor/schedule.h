/*
 * schedule - the learning rate as a function of the number of updates done.
 *
 * The schedules are Keras's; a plain number is the constant schedule.
 */
#ifndef PS_SCHEDULE_H
#define PS_SCHEDULE_H

#include "base/fail.h"
#include "base/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULE_PIECES	16

struct schedule_kind;

struct schedule {
	const struct schedule_kind *kind;
	float learning_rate;		/* the initial rate */
	uint64_t decay_steps, warmup_steps;
	float decay_rate, end_learning_rate, power, alpha, warmup_target;
	bool staircase;
	size_t pieces;			/* for piecewise_constant */
	uint64_t boundary[SCHEDULE_PIECES];
	float value[SCHEDULE_PIECES + 1];
};

/*
 * Read learning_rate=, schedule=, decay_steps= ...  from s, and take them out
 * of it; start is the learning rate if s has none.  Return 0; or -1 with
 * FAIL_CONFIG, and leave the schedule as it was.
 */
int schedule_parse(struct schedule *, struct settings *s, float start,
		   struct fail *);

/* Return the rate after s updates: s is 0 for the first update. */
float schedule_at(const struct schedule *, uint64_t s);

/*
 * Return the rate after s updates for a request that may ask for another rate:
 * asked above 0 is the rate itself, below 0 it is -asked times the rate of the
 * schedule, and 0 asks for nothing.  Where the model itself has a rate of 0
 * throughout, or of 0 for these updates in piecewise_constant, the rate stays
 * 0.
 */
float schedule_asked(const struct schedule *, uint64_t s, float asked);

/*
 * Return whether the schedule is constant; whether two schedules are the same.
 */
bool schedule_constant(const struct schedule *);
bool schedule_same(const struct schedule *, const struct schedule *);

/* Return whether the rate is 0 for all updates. */
bool schedule_still(const struct schedule *);

#endif
