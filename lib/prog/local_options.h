/*
 * local_cluster_options - the command line of ps-local.
 */
#ifndef PS_LOCAL_OPTIONS_H
#define PS_LOCAL_OPTIONS_H

#include "prog/local_cluster.h"
#include "sys/cli.h"

extern const struct cli_program local_program;

/* Ends the program when they make no sense; signals are not among them. */
struct local_cluster_options local_options_read(int argc, char **argv);

#endif
