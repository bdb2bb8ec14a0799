/*
 * relay_options - the command line of ps-relay.
 */
#ifndef PS_RELAY_OPTIONS_H
#define PS_RELAY_OPTIONS_H

#include "relay/relay.h"
#include "store/cluster.h"
#include "sys/cli.h"

extern const struct cli_program relay_program;

struct relay_settings {
	struct cli_common common;
	struct cluster cluster;
	const char *bind;
	struct relay_options relay;	/* without its endpoint */
};

/* Read the command line; end the program, with a message, if it is wrong. */
void relay_settings_read(struct relay_settings *, int argc, char **argv);
void relay_settings_release(struct relay_settings *);

#endif
