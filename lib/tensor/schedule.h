/*
 * schedule - the learning rate as a function of the updates done.
 *
 * Keras's learning rate schedules; a plain number is the constant one.
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
	float learning_rate;		/* the initial one */
	uint64_t decay_steps, warmup_steps;
	float decay_rate, end_learning_rate, power, alpha, warmup_target;
	bool staircase;
	size_t pieces;			/* of piecewise_constant */
	uint64_t boundary[SCHEDULE_PIECES];
	float value[SCHEDULE_PIECES + 1];
};

/*
 * From learning_rate= and schedule=, decay_steps= ... of s; start is the
 * learning rate when none is said.
 */
int schedule_parse(struct schedule *, struct settings *s, float start,
		   struct fail *);

/* The rate after s updates: s is 0 for the first one. */
float schedule_at(const struct schedule *, uint64_t s);

/*
 * The same where somebody asks for another one: above 0 for that rate, below
 * 0 for what it would be times -asked, 0 for nothing else.  What is frozen, as
 * the model says a rate of 0, stays so.
 */
float schedule_asked(const struct schedule *, uint64_t s, float asked);

bool schedule_constant(const struct schedule *);
bool schedule_same(const struct schedule *, const struct schedule *);

/* Is the rate 0 from the first update to the last? */
bool schedule_still(const struct schedule *);

#endif
