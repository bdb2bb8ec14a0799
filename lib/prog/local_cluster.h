/*
 * local_cluster - run servers, workers and relays on this machine while a
 * command runs.
 *
 * Each of them, and the command, is a child with a process group of its own.
 * So a signal reaches the command and all that it started, once, while servers
 * and workers live on and let it end; and what is left of them can be killed.
 */
#ifndef PS_LOCAL_CLUSTER_H
#define PS_LOCAL_CLUSTER_H

#include "base/fail.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct local_cluster_options {
	uint64_t servers, workers;
	uint64_t beside;		/* how many of the servers, the first
					   ones, are beside a worker each; 0:
					   none */
	uint64_t relays;		/* each for about as many workers; at
					   most one for each worker */
	char **worker_word;		/* options and inputs of workers; %i is
					   the index, %n their number */
	char **command;			/* the command; NULL ends both lists */
	const char *level;		/* -q, -v, or NULL: for all that are
					   started */
	const char *checkpoint;		/* -d of servers, or NULL */
	const char *log;		/* file of the log; NULL: standard
					   error */
	uint64_t restarts;		/* times that each one that dies is
					   started again */
	bool print_endpoint;		/* print the coordinator's endpoint */
	const char *endpoint_file;	/* to this file; NULL: standard
					   output */
	uint64_t grace_ms;		/* time to end in, before a kill */
	enum local_pin { PIN_SHARED, PIN_ALWAYS, PIN_NEVER } pin;
	const sigset_t *signals;	/* SIGCHLD, and those that ask us to
					   end; they are blocked */
};

/*
 * Run it all, and return the status to exit with, when no process is left.
 * Every process finds the sockets, which are in a private folder, by PS_COORD
 * and PS_SERVERS.
 *
 * The caller must be the leader of a session, whose parent sends it the
 * signals.  When the parent has gone, everything is ended at once.
 */
int local_cluster_run(const struct local_cluster_options *);

#endif
