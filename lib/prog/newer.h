/*
 * newer - find the newest checkpoint of a folder, for a program that predicts
 * while new ones come.
 */
#ifndef PS_NEWER_H
#define PS_NEWER_H

#include "store/checkpoint.h"

#include <stdbool.h>

struct newer;

/*
 * Begin with a folder, whose path is borrowed; the checkpoint in use is of this
 * step. The caller closes it.
 */
struct newer *newer_open(const char *dir, uint64_t step);
void newer_close(struct newer *);

/*
 * Return the newest checkpoint, verified, for the caller to close, if it is
 * another than the one in use; else NULL, also if it is damaged, which is
 * warned of once.  The call costs almost nothing while the folder does not
 * change.
 */
struct checkpoint *newer_look(struct newer *, uint64_t now_ms);

#endif
