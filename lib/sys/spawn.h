/*
 * spawn - start a program as a child of ours and a process group of its own.
 *
 * A signal to the group reaches it and all that it starts, and nobody else.
 * All groups that a program launches are of one session, since the system may
 * share CPUs out by sessions: among members of one, whom a message wakes runs
 * when it is best for all of them.
 */
#ifndef PS_SPAWN_H
#define PS_SPAWN_H

#include "base/fail.h"

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
	char *const *word;	/* the program, which is looked up as a shell
				   does, and its arguments; NULL ends them */
	int file[3];		/* its standard files; -1: /dev/null */
	int cpu;		/* the one to stay on; -1: any */
	int shared;		/* what it has as SPAWN_SHARED; 0: nothing */
};

#define SPAWN_SHARED	3	/* a file besides the standard ones */

/*
 * Its pid, or -1: FAIL_NOINPUT if it is no program.  It has no signal blocked,
 * and heeds all but SIGHUP, if that was ignored; it is sent SIGTERM when we
 * die.
 */
pid_t spawn(const struct spawn *, struct fail *);

/* Is there a program of this name?  FAIL_NOINPUT: there is none, or why it
   cannot be run. */
int spawn_find(const char *name, struct fail *);

/*
 * Put the folder of the program that we are on PATH, so that those beside it
 * are found, by all that we start, too: behind what is there, unless a program
 * of our name is in a folder of that and is another one; then before it.
 */
void spawn_beside(const char *name);

/* A pipe, of which no program has an end that it is not given. */
int spawn_pipe(int ends[2], struct fail *);
/* Close it, if it is none of -1, which it is then. */
void spawn_close(int *file);

#endif
