/*
 * compare - how far two checkpoints are apart, array by array.
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
	const char *misfit;		/* why it has no difference; or NULL */
	double largest, rms;		/* NaN in one only: infinity */
	uint64_t only[2];		/* rows of a hashed table that are in
					   the first, in the second alone */
};

/*
 * Every variable, and with slots every slot, of either one, hashed tables
 * whole and row by row, by id: a block of each is in memory at a time.  Free
 * the list by compare_free().
 */
struct compare_item *compare_checkpoints(struct checkpoint *,
					 struct checkpoint *, bool slots,
					 size_t *count, struct fail *);
void compare_free(struct compare_item *, size_t count);

#endif
