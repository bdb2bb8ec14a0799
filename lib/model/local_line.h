/*
 * local_line - a line of a model that has a worker train copies of variables.
 */
#ifndef PS_LOCAL_LINE_H
#define PS_LOCAL_LINE_H

#include "base/fail.h"
#include "model/graph.h"

/* Take the line "local OPTIMIZER steps=K [for=PATTERN]"; the names are those of
   all variables. */
int local_line_define(struct model *, struct statement *,
		      struct names_sorted *, struct fail *);

/*
 * Give the line without a pattern its variables, and check what servers do with
 * each difference.  All lines were taken; variables without an optimizer line
 * have no default yet.
 */
int local_line_check(struct model *, struct fail *);

#endif
