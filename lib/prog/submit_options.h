/*
 * submit_options - the command line of ps-submit.
 */
#ifndef PS_SUBMIT_OPTIONS_H
#define PS_SUBMIT_OPTIONS_H

#include "client/submission.h"
#include "sys/cli.h"

extern const struct cli_program submit_program;

struct submit_settings {
	struct cli_common common;
	struct submission_options o;
	const char *output, *requests;
	char name[32];			/* if none is given */
};

/* Ends the program when they make no sense. */
void submit_settings_read(struct submit_settings *, int argc, char **argv);

#endif
