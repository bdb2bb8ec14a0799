/*
 * feature_set - put one value into a feature, checked against its input.
 *
 * Failures are FAIL_DATA and say what is wrong with the value; the caller
 * puts in front where it stands.
 */
#ifndef PS_FEATURE_SET_H
#define PS_FEATURE_SET_H

#include "base/fail.h"
#include "model/batch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text of size bytes, a NUL and NUMBER_SLACK more, as value number at.
 * Blanks around a number do not matter; a missing number does.  For a sparse
 * input the text is "id" or "id:weight".  Ids are from 0, or any whole numbers
 * of 64 bits if the input is hashed.
 */
int feature_set_text(struct feature *, size_t at, const char *text, size_t size,
		     struct fail *);

/*
 * The same for each part of the text if the input is cut by sep=, else for the
 * whole of it: *count values from at on.  Between blanks there is nothing.  The
 * text is cut in place and left as it was.
 */
int feature_set_cut(struct feature *, size_t at, char *text, size_t size,
		    size_t *count, struct fail *);

/* What an input's pad= has behind so many values from at on, if it has one. */
int feature_set_padding(struct feature *, size_t at, size_t count,
			struct fail *);

/*
 * A number out of a binary file, of a type with so many binary digits, as
 * FLT_MANT_DIG.  Words cannot be filled so.
 */
int feature_set_number(struct feature *, size_t at, double, int digits,
		       struct fail *);

/* For an input of ids: a whole number, its sign beside it. */
int feature_set_integer(struct feature *, size_t at, uint64_t, bool below_zero,
			struct fail *);

/*
 * The n examples from the first on are good: their labels are among those
 * that were read.  Out of a cache there may come both a 0 and a -1.
 */
int feature_set_add_noes(struct noes *, const struct batch *, size_t first,
			 size_t n, struct fail *);

#define FEATURE_SET_SHOWN	44

/* Text fit for a message: short, and of one line; returns shown. */
const char *feature_set_shown(const char *text, size_t size,
			      char shown[FEATURE_SET_SHOWN]);

#endif
