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

/* What is said of a data set of the model. */
struct coord_data {
	char *name;		/* "" */
	char **input;
	size_t inputs, room;
	uint64_t batch;		/* 0: the steps' */
	bool ends;
};

struct coord_settings {
	struct cli_common common;
	struct cluster cluster;
	struct coord_options o;
	struct checkpoint_publisher ckpt;
	const char *bind, *model, *output, *status, *restore, *journal;
	char *journal_path;	/* made by us, if it was not given; freed */
	const char *requests;	/* "-" by default */
	const char *queue;	/* an address, a FIFO or NULL */
	const char *servers;	/* as given */
	char *server_list;	/* a copy, cut into endpoints */
	struct coord_data *data;	/* for the samplers; that without a
					   name comes first */
	size_t datas, data_room;
	uint64_t split, shuffle;	/* bytes; records */
	struct plan_bags bags;	/* --plan: what the data show */
	bool plan_only, print_task, keep_said, partition_said;
	char task[64];	/* what --print-task prints */
	uint64_t beside;	/* servers beside workers; 0: none, or not
				   given */
	const char *told_beside;	/* the number from the environment, or
					   NULL */
	bool anywhere;		/* the model's vocabularies may be anywhere */
	struct definitions definitions;	/* for the model */
};

/*
 * Read the command line and the environment; end the program, with a message,
 * if they are wrong.
 */
void coord_settings_read(struct coord_settings *, int argc, char **argv);

/*
 * Record the endpoint that it listens at, and log it.  If the system chose the
 * port, the coordinator logs it when it begins.
 */
void coord_settings_listen(struct coord_settings *, const char *endpoint);

/*
 * Read and check the model, and warn of parts that nothing uses.  Return it,
 * for the caller to free; or NULL with the reason.
 */
struct model *coord_settings_model(struct coord_settings *,
				   struct model_source *, struct fail *);

/*
 * Check what needs neither a cluster nor a file of ours: endpoints, patterns
 * and sizes; and cut the data that were given, if any, for the sampler.  For
 * --plan the model is also given estimates from the data.  Return 0, or -1 with
 * the reason.
 */
int coord_settings_check(struct coord_settings *, struct model *,
			 struct fail *);
void coord_settings_release(struct coord_settings *);

#endif
