/*
 * compare - how far two checkpoints are apart, array by array.
 */
#ifndef PS_COMPARE_H
#define PS_COMPARE_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>
#include <stddef.h>

struct compare_item {
	const char *variable, *slot;	/* borrowed from the checkpoints */
	const char *misfit;		/* why it has no difference; or NULL */
	double largest, rms;		/* NaN in one only: infinity */
};

/*
 * Every variable, and with slots every slot, of either one; the caller frees
 * the list.
 */
struct compare_item *compare_checkpoints(struct checkpoint *,
					 struct checkpoint *, bool slots,
					 size_t *count, struct fail *);

#endif
