/* local_options - the command line of ps-local. */
#ifndef PS_LOCAL_OPTIONS_H
#define PS_LOCAL_OPTIONS_H

#include "prog/local_cluster.h"
#include "sys/cli.h"

extern const struct cli_program local_program;

/*
 * Read the command line; end the program, with a message, if it is wrong.  The
 * caller sets signals.
 */
struct local_cluster_options local_options_read(int argc, char **argv);

#endif
