/*
 * external_process - those that compute external layers and steps, as children
 * of ours: see ps-external(5) and ps-step(5).
 *
 *	external_processes_add(&p, optarg)	once for each -x
 *	p.step = optarg			--step
 *	... = external_processes_externals(&p)	for whoever computes
 *	external_processes_end(&p)
 */
#ifndef PS_EXTERNAL_PROCESS_H
#define PS_EXTERNAL_PROCESS_H

#include "model/external.h"

#include <poll.h>
#include <stdint.h>

struct child;

struct external_processes {	/* { 0 } is none */
	char **command;		/* "LAYER=COMMAND", or "COMMAND" */
	size_t commands, command_room;
	const char *step;	/* that of the steps; NULL: there is none */
	uint64_t timeout_ms;	/* for an answer */
	uint64_t restarts;	/* of that of the steps, in a row */
	bool steady;		/* told to end, wait for it all the same */
	struct child *child;
	size_t count, room;
	struct externals externals;
};

#define PROGRAMS_RESTARTS	3	/* unless an option says */

/* The text is borrowed. */
void external_processes_add(struct external_processes *, char *text);

/*
 * What roles want; good until external_processes_end(), as are these.  What it
 * fails with, besides what external.h says: FAIL_PEER, a program has ended or
 * does not answer; FAIL_PROTOCOL, what it says is no answer; FAIL_AGAIN, we
 * were told to end.  The first two, of the program of the steps, only when it
 * was started again as often as it may be.
 */
const struct externals *
external_processes_externals(struct external_processes *);

/*
 * For who asks for steps, and does other things meanwhile: what to wait for,
 * EXTERNAL_FDS at most; and what to call then, and every now and then.
 */
#define EXTERNAL_FDS	3
size_t external_processes_fds(const struct external_processes *,
			      struct pollfd *);
void external_processes_go_on(const struct external_processes *);

/* Let them end, and if they do not, end them. */
void external_processes_end(struct external_processes *);

#endif
