/*
 * help - what --help prints: a synopsis and a list, made of tables of options.
 *
 * Completion in shells (bin/completion.bash) reads it, too.
 */
#ifndef PS_HELP_H
#define PS_HELP_H

#include "base/text.h"
#include "sys/cli.h"

/* An argument as "[BUFFER]" may be left out; "[LAYER=]COMMAND" may not. */
bool help_may_lack(const char *argument);

/* Options of every program: those of all, and of all that have peers or NULL;
   the former are letters without arguments. */
void help_write(struct text *, const struct cli_program *,
		const struct cli_option *few, const struct cli_option *peers);

#endif
