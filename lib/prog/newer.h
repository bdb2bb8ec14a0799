/*
 * newer - the newest checkpoint of a folder, for who predicts with it while
 * new ones come.
 */
#ifndef PS_NEWER_H
#define PS_NEWER_H

#include "store/checkpoint.h"

#include <stdbool.h>

struct newer;

/* The folder is borrowed; the one in use is of this step. */
struct newer *newer_open(const char *dir, uint64_t step);
void newer_close(struct newer *);

/*
 * Is there another newest one than was opened last?  Then that, verified; NULL
 * otherwise, also when there is one that is damaged, which is warned of once.
 * Costs next to nothing when nothing has happened.
 */
struct checkpoint *newer_look(struct newer *, uint64_t now_ms);

#endif
