/*
 * order - a column that a pattern means is the same one of those in all files.
 *
 * A pattern takes columns as they stand, so where they stand otherwise in
 * another file each would feed the place of another.
 */
#ifndef PS_ORDER_H
#define PS_ORDER_H

#include "base/fail.h"
#include "base/names.h"

/* A zeroed struct is an empty one: no file was read. */
struct order {
	struct names *place;	/* of each input: that of each of its columns */
	size_t inputs;
};

void order_release(struct order *);

/*
 * The columns that feed one of so many inputs, by their names, which are
 * copied.  FAIL_DATA if one of them had another place.
 */
int order_keep(struct order *, size_t inputs, size_t input,
	       const char *const *name, size_t count, struct fail *);

#endif
