/*
 * eval_options - the command line of ps-eval.
 */
#ifndef PS_EVAL_OPTIONS_H
#define PS_EVAL_OPTIONS_H

#include "client/evaluator.h"
#include "client/stop_condition.h"
#include "data/reader.h"
#include "prog/external_process.h"
#include "store/cluster.h"
#include "sys/cli.h"

extern const struct cli_program eval_program;

struct eval_settings {
	struct cli_common common;
	struct cluster cluster;
	struct evaluator_options evaluator;
	struct reader_options reader;
	struct stop_condition until;
	struct external_processes programs;
	const char *dir;	/* folder of checkpoints; NULL: score the live
				   model */
	const char *output;	/* a file of scores; NULL: standard output */
	bool follow, newest;
	bool predict;		/* there are no labels */
	uint64_t idle_ms;	/* of --follow; 0: for ever */
	uint64_t batch;
	char **inputs;
	size_t count;
};

/* Read the command line; end the program, with a message, if it is wrong. */
void eval_settings_read(struct eval_settings *, int argc, char **argv);

/*
 * End the program, with a message, unless every input can be read more than
 * once.
 */
void eval_settings_reread(const struct eval_settings *);
/*
 * Return whether an input is a stream or a command, which may still be running
 * when newer checkpoints come.
 */
bool eval_settings_stream(const struct eval_settings *);
void eval_settings_release(struct eval_settings *);

#endif
