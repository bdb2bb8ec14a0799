/*
 * number - reads decimal numbers from text, fast, rounded to the nearest float.
 *
 * A text must end with a character that is not a part of a number, such as a
 * NUL, and NUMBER_SLACK bytes after this character must be readable.
 */
#ifndef PS_NUMBER_H
#define PS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_SLACK	32

/*
 * Read [+-] digits [. digits] [e [+-] digits]; a number that is too large for a
 * float is infinite.  Return where the number ended, or NULL if there is none.
 */
const char *number_float(const char *text, float *);

/*
 * Read a number of the most common form, such as "-12.5": size characters, then
 * a NUL; an optional "-", 1 to 8 digits, and at most one point.  A 0 that is
 * alone before the point does not count as a digit.  false: the text has
 * another form, or a point after 8 digits, and the float is left alone.
 */
bool number_short(const char *text, size_t size, float *);

/*
 * Read count numbers of that form, with a given character between any two, and
 * a NUL after the last.  Return a pointer to the NUL, or NULL if the text has
 * anything else.  The array of count formats has the form of each number in the
 * last list, and is updated; a list that is written alike is read faster.
 */
struct number_format;
const char *number_list(const char *text, char between, float *value,
			struct number_format *, size_t count);

/*
 * Read a number of digits only, and say if it fits 64 bits.  Return where it
 * ended, or NULL if there is none.
 */
const char *number_uint(const char *text, uint64_t *, bool *fits);

#define NUMBER_PAIR	4	/* characters of the shortest pair: "1:2 " */

/*
 * Read pairs "id:value id:value ..." at the speed of memory, as far as they are
 * plain: one blank before each but the first, ids of 1 to 8 digits, and values
 * as number_short() takes them.  The row of a pair is its id less first, which
 * is 0 or 1; rows must ascend, from next or above, and be below rows.
 *
 * Store the rows in id[], the values in value[], which are those of strtof(),
 * and their number in *count.  Return where reading stopped: at the blank or
 * the NUL after the last pair, or at the first pair that is not plain or is
 * wrong; the caller finds out which.
 *
 * id and value need room for one pair of every NUMBER_PAIR characters of the
 * line, and one more; NUMBER_SLACK bytes after the line must be readable.
 */
const char *number_sparse_pairs(const char *p, uint64_t first, uint64_t next,
				uint64_t rows, uint32_t *id, float *value,
				size_t *count);

#endif
