/*
 * local_cluster - servers, workers and relays on this machine, while a command
 * runs.
 *
 * Each is a child and a group of its own, so that a signal reaches the command
 * and all that it started, once and whole, while members live on and let it
 * come to an end; and so that what is left of them can be ended.
 */
#ifndef PS_LOCAL_CLUSTER_H
#define PS_LOCAL_CLUSTER_H

#include "base/fail.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct local_cluster_options {
	uint64_t servers, workers;
	uint64_t beside;		/* the first of these servers, with a
					   worker each; 0: none is */
	uint64_t relays;		/* each of about as many workers; no
					   more than those */
	char **worker_word;		/* options and inputs of workers, in
					   which %i and %n stand for numbers */
	char **command;			/* NULL ends the words of both */
	const char *level;		/* -q, -v, or NULL: for members */
	const char *checkpoint;		/* -d of servers, or NULL */
	const char *log;		/* or standard error */
	uint64_t restarts;		/* of each member that dies */
	bool print_endpoint;		/* the coordinator's, to this file; */
	const char *endpoint_file;	/* NULL: to standard output */
	uint64_t grace_ms;		/* for what is to end, then it is
					   killed */
	enum local_pin { PIN_SHARED, PIN_ALWAYS, PIN_NEVER } pin;
	const sigset_t *signals;	/* SIGCHLD, and those that ask for an
					   end; blocked */
};

/*
 * The status to end with, when nobody is left.  All who run are told where
 * sockets are by PS_COORD and PS_SERVERS; that is a private folder.
 *
 * To be called by the leader of a session, which its parent tells of signals;
 * when the parent has gone all is ended at once.
 */
int local_cluster_run(const struct local_cluster_options *);

#endif
