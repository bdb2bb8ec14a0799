/*
 * number - decimal numbers out of text, fast, and to the nearest float.
 *
 * Both return where the number ended, or NULL if there is none.  The text
 * must have an end that is no part of a number, such as a NUL.
 */
#ifndef PS_NUMBER_H
#define PS_NUMBER_H

#include <stdint.h>

/* [+-] digits [. digits] [e [+-] digits]; infinite if too large. */
const char *number_float(const char *text, float *);

/* Digits only; UINT64_MAX if too large. */
const char *number_uint(const char *text, uint64_t *);

#endif
