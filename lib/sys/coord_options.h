/*
 * coord_options - the command line of ps-coord.
 */
#ifndef PS_COORD_OPTIONS_H
#define PS_COORD_OPTIONS_H

#include "role/coord.h"
#include "store/cluster.h"
#include "sys/cli.h"
#include "sys/keeper.h"

#define COORD_USAGE \
	"[-b endpoint] [-s endpoint,...|count] [-B batch] " \
	"[--checkpoint=directory] [--every=steps|duration] " \
	"[--in-flight=n] [--keep=n] [--keep-going] [--keep-servers] " \
	"[--lease=duration] [--min-workers=n] [-o file] [--pack=n] " \
	"[--partition=partitioner] [--patience=duration] " \
	"[--place=placement] [--plan] " \
	"[--print-task] [--restore=latest|none|path] " \
	"[--results=all|errors|none] [--seed=n] -m model [requests]"

struct coord_settings {
	struct cli_common common;
	struct cluster cluster;
	struct coord_options o;
	struct keeper keeper;
	const char *bind, *model, *output, *restore;
	const char *requests;	/* "-" by default */
	const char *servers;	/* as said */
	char *server_list;	/* cut up */
	bool plan_only, print_task;
};

/* Ends the program when they make no sense. */
void coord_settings_read(struct coord_settings *, int argc, char **argv);
void coord_settings_release(struct coord_settings *);

#endif
