/*
 * command - runs a command by sh, for the caller to read its output.
 *
 * A thread that reads the output may wait for ever.  Another thread can end
 * this wait: it ends all commands of a list by commands_end().
 */
#ifndef PS_COMMAND_H
#define PS_COMMAND_H

#include "base/fail.h"

#include <sys/types.h>

/* A command is on its list until command_await() has returned. */
struct command {		/* { 0 } is none */
	pid_t pid;		/* 0: none */
	struct commands *all;	/* its list, borrowed */
	struct command *next;
};

struct commands {		/* { 0 } is empty */
	struct command *first;
};

/*
 * Run "sh -c text" and put the command on the list.  Return a descriptor that
 * reads its output, for the caller to close; or -1 (FAIL_NOINPUT).  Messages
 * call the command by name.
 */
int command_start(struct command *, struct commands *, const char *text,
		  const char *name, struct fail *);

/*
 * Wait for the end of a command that has closed its output, and take it off its
 * list.  Return 0 if its status was 0, if SIGPIPE ended it (status 141, too),
 * or if there is no command; else -1 (FAIL_IO).
 */
int command_await(struct command *, const char *name, struct fail *);

/* Send SIGTERM to a command, or to all of a list. */
void command_end(const struct command *);
void commands_end(const struct commands *);

#endif
