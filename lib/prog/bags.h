/*
 * bags - how many ids the examples of some data have, of inputs that may have
 * any number of them.
 */
#ifndef PS_BAGS_H
#define PS_BAGS_H

#include "data/split.h"
#include "wire/plan.h"

#define BAGS_RECORDS	((uint64_t)10000)	/* of the data are read */

/*
 * Read the first records of the data, and have the model expect as many ids of
 * each input as one of them has at most.
 */
int bags_expect(struct plan_bags *, struct model *, const struct splits *,
		const struct record_range_format *, struct fail *);

#endif
