/*
 * parse - lines of a model file into inputs, labels and shapes.
 */
#ifndef PS_PARSE_H
#define PS_PARSE_H

#include "base/fail.h"
#include "model/graph.h"

#include <stdbool.h>

/* "[3]", "[28,28]", "3,4", "[]" (rank 0); dimensions of 1 or more. */
bool parse_shape(const char *text, struct shape *);

/* "string[3]" and its settings; input->name and where are set before. */
int parse_input(struct input *, struct model *, struct statement *,
		bool label, struct fail *);
void parse_release(struct input *);

#endif
