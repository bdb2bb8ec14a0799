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
	char name[32];			/* used if no name is given */
};

/*
 * Read the command line and the environment; end the program, with a message,
 * if they are wrong.
 */
void submit_settings_read(struct submit_settings *, int argc, char **argv);

#endif
