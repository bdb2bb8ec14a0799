/*
 * compare - computes the differences of two checkpoints, array by array.
 */
#ifndef PS_COMPARE_H
#define PS_COMPARE_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compare_item {
	char *name;			/* "VARIABLE" or "VARIABLE@SLOT" */
	const char *mismatch;		/* why the two arrays cannot be
					   compared; or NULL */
	double largest, rms;		/* of the differences; infinity if a
					   number is NaN in one only */
	uint64_t only[2];		/* rows of a hashed table that are only
					   in the first, or in the second */
};

/*
 * Compare all variables of both, and with slots all slots.  The parts of a
 * hashed table are joined, and its rows are compared by id.  A block of each is
 * in memory at a time.  Return *count items, for compare_free(); or NULL.
 */
struct compare_item *compare_checkpoints(struct checkpoint *,
					 struct checkpoint *, bool slots,
					 size_t *count, struct fail *);
void compare_free(struct compare_item *, size_t count);

#endif
