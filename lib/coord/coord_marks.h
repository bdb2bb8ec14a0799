/*
 * coord_marks - which steps servers are told to have ended.
 */
#ifndef PS_COORD_MARKS_H
#define PS_COORD_MARKS_H

#include "coord/coord_private.h"

void marks_init(struct coord *);
void marks_release(struct coord *);
/* Tell those whose mark has moved, if it is time to. */
void marks_tell(struct coord *, uint64_t now_ms);
/* They have acknowledged theirs, or begun with others. */
void marks_told(struct coord *);
/* The least one that any of them has. */
uint64_t marks_least(const struct coord *);
const char *marks_check(const struct coord *);

#endif
