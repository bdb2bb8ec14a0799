/*
 * visible - text of peers and files, made fit for eyes and terminals.
 *
 * Names, words and messages may have any bytes in them.  What would steer a
 * terminal (C0, DEL, C1), turn the order of what is read (Unicode's bidi
 * controls), be a line of its own or not be seen at all, and what is no UTF-8,
 * must reach neither logs nor results.
 */
#ifndef PS_VISIBLE_H
#define PS_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The character that a text of size bytes begins with: how many bytes it has,
 * and may it be shown?  0: that is no UTF-8.
 */
size_t visible_character(const char *, size_t size, bool *shown);

/* The number of that character, and how many bytes it has; 0: no UTF-8. */
size_t visible_decode(const unsigned char *, size_t size, uint32_t *c);

/* Must it not be shown? */
bool visible_hides(uint32_t c);

/*
 * Copy text into room bytes, with its NUL; a question mark stands for each
 * character that may not be shown, and each byte of none.  What does not fit is
 * left out, by whole characters; returns how many bytes of the text were taken.
 */
size_t visible_copy(char *to, size_t room, const char *text, size_t size);

#endif
