/*
 * spawn - starts a program as a child of ours, in a process group of its own.
 *
 * A signal to the group reaches the program and all that it starts, and nothing
 * else.  All groups that we start stay in our session, since Linux may share
 * CPUs out among sessions (autogroups): in one session, a program that is woken
 * by a message is scheduled among all programs of the run.
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
	int cpu;		/* the only one that it may use; -1: any */
	int shared;		/* what it gets as SPAWN_SHARED; 0: nothing */
};

#define SPAWN_SHARED	3	/* a descriptor besides the standard files */

/*
 * Start a program.  Return its pid, or -1: FAIL_NOINPUT if it cannot be run,
 * FAIL_AGAIN if the system lacks something now.  The program has no signal
 * blocked, and none ignored but SIGHUP, if we ignore that.  It is sent SIGTERM
 * when we die.
 */
pid_t spawn(const struct spawn *, struct fail *);

/* Return 0 if there is a program of this name, on PATH unless it has a slash;
   else -1 (FAIL_NOINPUT), with the reason. */
int spawn_find(const char *name, struct fail *);

/*
 * Add the folder of our own program, which has this name, to PATH, so that we
 * and all that we start find the programs beside it.  The folder is added at
 * the end, or in front if PATH has another program of this name.
 */
void spawn_beside(const char *name);

/* Make a pipe whose ends are closed in programs that we start, unless they are
   given one as a file.  Return 0, or -1 (FAIL_AGAIN). */
int spawn_pipe(int ends[2], struct fail *);

/* Close a descriptor, unless it is -1, and set it to -1. */
void spawn_close(int *file);

#endif
