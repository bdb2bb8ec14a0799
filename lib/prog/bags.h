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
 * Read the first records of the data, and give the model the largest number of
 * ids that one of them has for each input.  Set how many records were read, and
 * whether these were all.  Return 0, or -1 with the reason.
 */
int bags_expect(struct plan_bags *, struct model *, const struct splits *,
		const struct record_range_format *, struct fail *);

#endif
