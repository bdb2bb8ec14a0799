/*
 * progress - draws one line on a terminal, again and again in its place.
 */
#ifndef PS_PROGRESS_H
#define PS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is there a terminal to draw on? */
bool progress_possible(void);

/* Draw the text, unless the line was drawn less than 100 ms ago; an empty text
   erases the line. */
void progress_draw(const char *text, uint64_t now_ms);

/* Erase the line, if one is drawn. */
void progress_wipe(void);

#endif
