/*
 * step_line - a line of a model that has a program compute whole steps.
 */
#ifndef PS_STEP_LINE_H
#define PS_STEP_LINE_H

#include "base/fail.h"
#include "model/graph.h"

/* "step NAME INPUT...", of a name that is sound and new. */
int step_line_define(struct model *, struct statement *, struct fail *);

/* All lines are there: every variable has somebody who computes with it. */
int step_line_check(const struct model *, struct fail *);

/* Which lines each layer and each variable is of. */
void step_line_mark(struct model *);

#endif
