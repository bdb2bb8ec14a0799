/*
 * parse - lines of a model file into inputs, labels and shapes.
 */
#ifndef PS_PARSE_H
#define PS_PARSE_H

#include "base/fail.h"
#include "model/graph.h"

#include <stdbool.h>

/*
 * Read "[3]", "[28,28]", "3,4" or "[]" (rank 0); dimensions are 1 or more.
 * Return false, and leave the shape as it was, for any other text.
 */
bool parse_shape(const char *text, struct shape *);

/*
 * Read the kind of an input or label, such as "string[3]", and its settings.
 * The caller has set name and where.  Return 0, or -1 with FAIL_CONFIG;
 * parse_release() is to be called in both cases.
 */
int parse_input(struct input *, struct model *, struct statement *,
		bool label, struct fail *);
void parse_release(struct input *);

#endif
