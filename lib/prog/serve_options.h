/*
 * serve_options - the command line of ps-serve.
 */
#ifndef PS_SERVE_OPTIONS_H
#define PS_SERVE_OPTIONS_H

#include "store/cluster.h"
#include "sys/cli.h"

extern const struct cli_program serve_program;

struct serve_settings {
	struct cli_common common;
	struct cluster cluster;
	const char *bind, *coordinator, *directory, *standby_of;
	uint64_t index;		/* -i; WIRE_NONE: it was not said */
	uint64_t lease_ms, grace_ms;
	uint64_t idle_ms;	/* 0: it waits for ever */
	bool wal;
};

/* Ends the program when they make no sense. */
void serve_settings_read(struct serve_settings *, int argc, char **argv);

/* What the log is called by: -i, or the task, or 0. */
uint64_t serve_settings_index(const struct serve_settings *);
void serve_settings_release(struct serve_settings *);

#endif
