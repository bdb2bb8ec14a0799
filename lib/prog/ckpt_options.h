/*
 * ckpt_options - the command line of ps-ckpt.
 */
#ifndef PS_CKPT_OPTIONS_H
#define PS_CKPT_OPTIONS_H

#include "model/definitions.h"
#include "sys/cli.h"

extern const struct cli_program ckpt_program;

/* In the order of the table of commands. */
enum ckpt_command {
	CKPT_CAT, CKPT_CONVERT, CKPT_DIFF, CKPT_IMPORT, CKPT_LS, CKPT_PRUNE,
	CKPT_SHOW, CKPT_VERIFY, CKPT_COMMANDS
};

struct ckpt_settings {
	const char *model, *best, *metrics;
	struct definitions definitions;	/* for the model */
	bool json, slots, anywhere;
	uint64_t keep, seed;
	double tolerance;
	enum ckpt_command command;
	char **operand;		/* ends with NULL */
};

/* Read the command line; end the program, with a message, if it is wrong. */
void ckpt_settings_read(struct ckpt_settings *, int argc, char **argv);

#endif
