/*
 * visible - makes text from peers and files fit for logs and terminals.
 *
 * Names, words and messages may have any bytes.  Five kinds must reach neither
 * logs nor results: characters that control a terminal (C0, DEL, C1), that
 * change the order in which text is read (Unicode's bidi controls), that begin
 * a new line, or that are invisible; and bytes that are not UTF-8.
 */
#ifndef PS_VISIBLE_H
#define PS_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Return how many bytes the first character of a text of size bytes has, and
 * set *shown if it may be shown.  0: the text is empty, or does not begin with
 * UTF-8.
 */
size_t visible_character(const char *, size_t size, bool *shown);

/*
 * Decode the first character of a text of size bytes, at least 1.  Set *c to
 * its code point and return how many bytes it has; 0: it is not UTF-8.
 */
size_t visible_decode(const unsigned char *, size_t size, uint32_t *c);

/* Must a code point not be shown? */
bool visible_hides(uint32_t c);

/*
 * Copy a text into room bytes, at least 1, with a NUL at its end.  A question
 * mark replaces each character that must not be shown, and each byte that is
 * not UTF-8.  Copying stops before the first character that does not fit.
 * Return how many bytes of the text were copied.
 */
size_t visible_copy(char *to, size_t room, const char *text, size_t size);

#endif
