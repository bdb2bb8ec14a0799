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
	uint64_t index;		/* -i; WIRE_NONE: not given */
	uint64_t lease_ms, grace_ms;
	uint64_t idle_ms;	/* 0: no limit */
	bool wal;
};

/* Read the command line; end the program, with a message, if it is wrong. */
void serve_settings_read(struct serve_settings *, int argc, char **argv);

/*
 * Return the number in the name of the log: -i, or the index of the task, or 0.
 */
uint64_t serve_settings_index(const struct serve_settings *);
void serve_settings_release(struct serve_settings *);

#endif
