/*
 * feature_set - puts one value into a feature, and checks it against the input.
 *
 * A failure is FAIL_DATA, and its message names the value and what is wrong
 * with it.  The caller puts the place in front: file, line and column.
 */
#ifndef PS_FEATURE_SET_H
#define PS_FEATURE_SET_H

#include "base/fail.h"
#include "model/batch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read a text of size bytes as one value, and store it as value number at.  A
 * NUL and NUMBER_SLACK bytes more must follow the text.  Blanks around a number
 * are ignored; an empty number is an error.  For a sparse input the text is
 * "id" or "id:weight".  An id is at least 0 and below the input's rows, or any
 * whole number of 64 bits if the input is hashed.  Return 0 or -1.
 */
int feature_set_text(struct feature *, size_t at, const char *text, size_t size,
		     struct fail *);

/*
 * Read all values of a text, from value number at on, and set *count to their
 * number: the parts between separators if the input has a sep=, else the whole
 * text as one value.  If the separator is a blank, empty parts do not count.
 * With a pad=, parts beyond the input's width are not read.  The function
 * writes into the text, and restores it.  Return 0 or -1.
 */
int feature_set_cut(struct feature *, size_t at, char *text, size_t size,
		    size_t *count, struct fail *);

/*
 * If the input has a pad=, fill an example up with it: count of its values,
 * from at on, are there already.  Return 0 or -1.
 */
int feature_set_padding(struct feature *, size_t at, size_t count,
			struct fail *);

/*
 * Put a number of a binary file in; digits is the number of bits in the
 * significand of its type there, such as FLT_MANT_DIG.  An id must be so small
 * that this type holds it exactly.  The input must not be of words.  Return 0
 * or -1.
 */
int feature_set_number(struct feature *, size_t at, double, int digits,
		       struct fail *);

/*
 * Put a whole number into an input of ids: its absolute value, and whether it
 * is below 0.  Return 0 or -1.
 */
int feature_set_integer(struct feature *, size_t at, uint64_t, bool below_zero,
			struct fail *);

/*
 * Add the labels of n good examples, from the first on, to those that were
 * read so far.  Return 0, or -1 if binary labels have a 0 and a -1 by now: the
 * records of a cache are not checked one by one, so both can come at once.
 */
int feature_set_add_negatives(struct negative_labels *, const struct batch *,
			      size_t first, size_t n, struct fail *);

#define FEATURE_SET_SHOWN	44

/* Copy a text for a message: one line, cut off with "...".  Return shown. */
const char *feature_set_shown(const char *text, size_t size,
			      char shown[FEATURE_SET_SHOWN]);

#endif
