/*
 * progress - one line on a terminal, drawn again in its place.
 */
#ifndef PS_PROGRESS_H
#define PS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is there a terminal to draw on? */
bool progress_possible(void);

/* Draw, at most ten times a second; an empty text wipes the line. */
void progress_draw(const char *text, uint64_t now_ms);
void progress_wipe(void);

#endif
