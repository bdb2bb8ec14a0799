/*
 * local_line - a line of a model that has a worker train copies of variables.
 */
#ifndef PS_LOCAL_LINE_H
#define PS_LOCAL_LINE_H

#include "base/fail.h"
#include "model/graph.h"

/* "local OPTIMIZER steps=K [for=PATTERN]", of variables by their names. */
int local_line_define(struct model *, struct statement *,
		      struct names_sorted *, struct fail *);

/*
 * All lines are there, but no variable has the optimizer that none of them
 * says: does each copy have one that takes what it has come to?
 */
int local_line_check(struct model *, struct fail *);

#endif
