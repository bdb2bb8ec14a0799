/*
 * order - checks that columns which match a pattern have the same places in all
 * files.
 *
 * Columns that match feed an input in the order of their names.  In a file that
 * lacks one, or has one more, those behind it would feed the places of others.
 */
#ifndef PS_ORDER_H
#define PS_ORDER_H

#include "base/fail.h"
#include "base/names.h"

/* A zeroed struct is an empty one: no file was read. */
struct order {
	struct names *place;	/* for each input: the name of a column gives
				   its place among those that feed the input */
	size_t inputs;
};

void order_release(struct order *);

/*
 * Check, and remember, the places of count columns of a file, which feed one of
 * all inputs; the input is given by its number, and names are copied.  Return
 * 0, or -1 (FAIL_DATA) if one of the columns had another place in an earlier
 * file.
 */
int order_keep(struct order *, size_t inputs, size_t input,
	       const char *const *name, size_t count, struct fail *);

#endif
