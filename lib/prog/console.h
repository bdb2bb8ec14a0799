/*
 * console - what people are told of a run while it goes on: warnings, a line
 * on a terminal, the same line when they ask for it, and a file of figures.
 */
#ifndef PS_CONSOLE_H
#define PS_CONSOLE_H

#include "coord/coord.h"
#include "prog/status_file.h"

struct console {
	bool draws;		/* on a terminal */
	struct status_file file;
};

/* A path of NULL: no file.  -1: there cannot be one. */
int console_begin(struct console *, bool quiet, const char *path,
		  struct fail *);

/* Call it often. */
void console_update(struct console *, struct coord *);

/* The last ones. */
void console_end(struct console *, struct coord *);

#endif
