/*
 * console - what a person sees of a run: warnings, a line of progress on a
 * terminal, the same line in answer to a signal, and a file with the state of
 * the run.
 */
#ifndef PS_CONSOLE_H
#define PS_CONSOLE_H

#include "coord/coord.h"
#include "prog/status_file.h"

struct console {
	bool draws;		/* it draws the line of progress on a
				   terminal */
	struct status_file file;
};

/*
 * Begin.  path is that of the file; NULL: no file.  Return 0; or -1 with the
 * reason if the file cannot be made.
 */
int console_begin(struct console *, bool quiet, const char *path,
		  struct fail *);

/* Show what is new; to be called often. */
void console_update(struct console *, struct coord *);

/* Show the last state, and end. */
void console_end(struct console *, struct coord *);

#endif
