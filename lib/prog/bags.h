/*
 * bags - find how many ids the examples of some data have, for inputs that may
 * have any number of them.
 */
#ifndef PS_BAGS_H
#define PS_BAGS_H

#include "data/split.h"
#include "wire/plan.h"

#define BAGS_RECORDS	((uint64_t)10000)	/* records that are read, at
						   most */

/*
 * Read the first records of a data set, and raise in most, which has a number
 * for each input of the model, that of each of its inputs to the ids that one
 * of them has at most.  Add what was read to plan_bags, and say whether these
 * were all.  Return 0, or -1 with the reason.
 */
int bags_read(struct plan_bags *, size_t *most, const struct model *,
	      size_t dataset, const struct splits *,
	      const struct record_range_format *, struct fail *);

#endif
