/*
 * work_options - the command line of ps-work.
 */
#ifndef PS_WORK_OPTIONS_H
#define PS_WORK_OPTIONS_H

#include "prog/external_process.h"
#include "prog/feed.h"
#include "store/cluster.h"
#include "sys/cli.h"
#include "sys/grace.h"
#include "worker/worker.h"

extern const struct cli_program work_program;

struct work_settings {
	struct cli_common common;
	struct cluster cluster;
	struct worker_options worker;
	struct feed_options feed;
	size_t input_room;		/* allocated items of feed.input */
	struct grace grace;
	struct external_processes programs;
	bool check;
	uint64_t threads;		/* threads that compute */
};

/* Read the command line; end the program, with a message, if it is wrong. */
void work_settings_read(struct work_settings *, int argc, char **argv);
void work_settings_release(struct work_settings *);

#endif
