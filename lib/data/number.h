/*
 * number - decimal numbers out of text, fast, and to the nearest float.
 *
 * Both return where the number ended, or NULL if there is none.  The text
 * must have an end that is no part of a number, such as a NUL.
 */
#ifndef PS_NUMBER_H
#define PS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [+-] digits [. digits] [e [+-] digits]; infinite if too large. */
const char *number_float(const char *text, float *);

/*
 * The same for the most common numbers: all of the size characters are digits
 * but for a "-" before and a point, and there are 8 at most beside the "-".
 * false: it is not such a number.  NUMBER_SLACK bytes behind can be read.
 */
#define NUMBER_SLACK	18
bool number_short(const char *text, size_t size, float *);

/*
 * As many of them as there are with this character between any two, up to
 * most; *end is where it stopped: behind them, if nothing else follows.
 */
size_t number_list(const char *text, char between, float *value, size_t most,
		   const char **end);

/* Digits only; UINT64_MAX if too large. */
const char *number_uint(const char *text, uint64_t *);

#endif
