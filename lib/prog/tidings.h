/*
 * tidings - what people are told of a run while it goes on: warnings, a line
 * on a terminal, the same line when they ask for it, and a file of figures.
 */
#ifndef PS_TIDINGS_H
#define PS_TIDINGS_H

#include "coord/coord.h"
#include "prog/status_file.h"

struct tidings {
	bool draws;		/* on a terminal */
	struct status_file file;
};

/* A path of NULL: no file.  -1: there cannot be one. */
int tidings_begin(struct tidings *, bool quiet, const char *path,
		  struct fail *);

/* Call it often. */
void tidings_tell(struct tidings *, struct coord *);

/* The last ones. */
void tidings_end(struct tidings *, struct coord *);

#endif
