/*
 * tidings - what people are told of a run while it goes on: warnings, a line
 * on a terminal, and the same line when they ask for it.
 */
#ifndef PS_TIDINGS_H
#define PS_TIDINGS_H

#include "role/coord.h"

struct tidings {
	bool draws;		/* on a terminal */
};

void tidings_begin(struct tidings *, bool quiet);

/* Call it often. */
void tidings_tell(struct tidings *, struct coord *);

/* The last ones. */
void tidings_end(struct tidings *, struct coord *);

#endif
