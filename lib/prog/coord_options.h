/*
 * coord_options - the command line of ps-coord.
 */
#ifndef PS_COORD_OPTIONS_H
#define PS_COORD_OPTIONS_H

#include "coord/coord.h"
#include "model/definitions.h"
#include "prog/checkpoint_publisher.h"
#include "store/cluster.h"
#include "sys/cli.h"

extern const struct cli_program coord_program;

struct coord_settings {
	struct cli_common common;
	struct cluster cluster;
	struct coord_options o;
	struct checkpoint_publisher ckpt;
	const char *bind, *model, *output, *status, *restore, *journal;
	char *journal_path;	/* if it was not said */
	const char *requests;	/* "-" by default */
	const char *queue;	/* an address, a FIFO or NULL */
	const char *servers;	/* as said */
	char *server_list;	/* cut up */
	char **input;		/* of the sampler */
	size_t inputs;
	uint64_t split, shuffle;	/* bytes; records */
	struct plan_bags bags;	/* --plan: what the data tell */
	bool plan_only, print_task, keep_said, partition_said;
	uint64_t beside;	/* servers; 0: none, or it is not said */
	const char *told_beside;	/* by the environment, or NULL */
	bool anywhere;		/* the model's vocabularies may be */
	struct definitions definitions;	/* of it */
};

/* Ends the program when they make no sense. */
void coord_settings_read(struct coord_settings *, int argc, char **argv);

/* It listens here.  If the port was left to the system whoever coordinates
   tells it, when that begins. */
void coord_settings_listen(struct coord_settings *, const char *endpoint);

/* Read and check the model, and warn of what nothing uses; NULL on failure. */
struct model *coord_settings_model(struct coord_settings *,
				   struct model_source *, struct fail *);

/* What needs neither a cluster nor a file of ours: cut the inputs that are
   given, if any, for a sampler, and look at the endpoints.  For --plan the
   model is told what the data are like. */
int coord_settings_check(struct coord_settings *, struct model *,
			 struct fail *);
void coord_settings_release(struct coord_settings *);

#endif
