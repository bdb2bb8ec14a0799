/*
 * external_process - run the programs that compute external layers and steps,
 * as children: see ps-external(5) and ps-step(5).
 *
 *	external_processes_add(&p, optarg)	once for each -x
 *	p.step = optarg			--step
 *	... = external_processes_externals(&p)	for compute
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
	const char *step;	/* command for the steps; NULL: none */
	uint64_t timeout_ms;	/* time for an answer */
	uint64_t restarts;	/* times in a row that the program of the steps
				   is started again */
	bool steady;		/* wait for an answer although we were told to
				   end */
	struct child *child;
	size_t count, room;
	struct externals externals;
};

#define PROGRAMS_RESTARTS	3	/* the default */

/* Add a command, "LAYER=COMMAND" or "COMMAND"; the text is borrowed. */
void external_processes_add(struct external_processes *, char *text);

/*
 * Return the interface that compute uses, good until external_processes_end().
 * Its failures, besides those in external.h: FAIL_PEER, a program has ended or
 * does not answer; FAIL_PROTOCOL, its output is not an answer; FAIL_AGAIN, we
 * were told to end.  The program of the steps fails with the first two only
 * when it was started again as often as allowed.
 */
const struct externals *
external_processes_externals(struct external_processes *);

/*
 * For a caller that does other things while a program computes.  One program
 * computes at a time.  Fill in the descriptors to wait for, and return their
 * number, at most EXTERNAL_FDS.  Call external_processes_advance() when one of
 * them is ready, and from time to time.
 */
#define EXTERNAL_FDS	3
size_t external_processes_fds(const struct external_processes *,
			      struct pollfd *);
void external_processes_advance(const struct external_processes *);

/*
 * Let the programs end: close their input, send SIGTERM after a second, and
 * SIGKILL after another.
 */
void external_processes_end(struct external_processes *);

#endif
