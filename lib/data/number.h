/*
 * number - decimal numbers out of text, fast, and to the nearest float.
 *
 * A text must have an end that is no part of a number, such as a NUL, and
 * NUMBER_SLACK bytes behind that can be read.
 */
#ifndef PS_NUMBER_H
#define PS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_SLACK	32

/*
 * [+-] digits [. digits] [e [+-] digits]; infinite if too large.  Returns
 * where it ended, or NULL if there is none.
 */
const char *number_float(const char *text, float *);

/*
 * The same for the most common numbers: all of the size characters are digits
 * but for a "-" before and a point, and there are 8 digits at most, beside a
 * 0 that is alone before the point.  false: it is not such a number, or ends
 * in a point behind 8.
 */
bool number_short(const char *text, size_t size, float *);

/*
 * count of them with this character between any two, and a NUL behind them,
 * which is returned; NULL: there is anything else.  A list is read faster if
 * it is written like the one before, whose forms these are, or become.
 */
struct number_format;
const char *number_list(const char *text, char between, float *value,
			struct number_format *, size_t count);

/* Digits only; do they fit 64 bits?  Returns as number_float() does. */
const char *number_uint(const char *text, uint64_t *, bool *fits);

#define NUMBER_PAIR	4	/* characters of the shortest pair: "1:2 " */

/*
 * Pairs, "id:value id:value ...", that are plainly written, each behind one
 * blank or at p, at the speed of memory: ids of up to 8 digits that ascend,
 * and numbers as number_short() takes them.  There are *count of them.  An id
 * is stored less the first one that there may be, 0 or 1, and then at least
 * next and below rows.  It returns where it stopped: at a blank or the NUL that
 * ends the line, at the first pair that is not as plain, or at one that is
 * wrong, which others will find out.  The values are those of strtof().
 *
 * id and value have room for one of every NUMBER_PAIR characters of the
 * line, and one more; NUMBER_SLACK bytes behind its end can be read.
 */
const char *number_sparse_pairs(const char *p, uint64_t first, uint64_t next,
				uint64_t rows, uint32_t *id, float *value,
				size_t *count);

#endif
