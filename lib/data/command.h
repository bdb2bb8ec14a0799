/*
 * command - the output of a command that sh runs, for us to read.
 *
 * Who reads it may wait for it for ever; who wants to go on all the same, from
 * another thread, ends the commands of a list.
 */
#ifndef PS_COMMAND_H
#define PS_COMMAND_H

#include "base/fail.h"

#include <sys/types.h>

/* One of a list, until it was waited for. */
struct command {		/* { 0 } is none */
	pid_t pid;		/* 0: none */
	struct commands *all;	/* that list, borrowed */
	struct command *next;
};

struct commands {		/* { 0 } is empty */
	struct command *first;
};

/*
 * Run it: a descriptor, to be closed by the caller; or -1, FAIL_NOINPUT.  The
 * name is what messages call it.
 */
int command_start(struct command *, struct commands *, const char *text,
		  const char *name, struct fail *);

/*
 * It has closed its output: wait for its end.  Status 0 and SIGPIPE are a good
 * one, and so is that of none; else FAIL_IO.
 */
int command_await(struct command *, const char *name, struct fail *);

/* Ask one, or all of a list, to end. */
void command_end(const struct command *);
void commands_end(const struct commands *);

#endif
