/*
 * step_line - a line of a model whose steps a program of the user's computes.
 */
#ifndef PS_STEP_LINE_H
#define PS_STEP_LINE_H

#include "base/fail.h"
#include "model/graph.h"

/*
 * Define "step NAME INPUT..."; the caller has checked the name.  Return 0, or
 * -1 with FAIL_CONFIG.
 */
int step_line_define(struct model *, struct statement *, struct fail *);

/*
 * When all lines are there: check that every variable is used, and that buffers
 * have a step line.  Return 0, or -1 with FAIL_CONFIG.
 */
int step_line_check(const struct model *, struct fail *);

/* Mark which step lines each layer and each variable takes part in. */
void step_line_mark(struct model *);

#endif
