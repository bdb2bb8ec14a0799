/*
 * help - what --help prints: a synopsis and a list, made of tables of options.
 *
 * Completion in shells (bin/completion.bash) reads it, too.
 */
#ifndef PS_HELP_H
#define PS_HELP_H

#include "base/text.h"
#include "sys/cli.h"

#include <stdbool.h>

/* An argument as "[BUFFER]" may be left out; "[LAYER=]COMMAND" may not. */
bool help_may_lack(const char *argument);

/* Options of every program: those of all, and of all that have peers or NULL;
   the former are letters. */
void help_write(struct text *, const struct cli_program *,
		const struct cli_option *few, const struct cli_option *peers);

/* The lines of the same list that have the word in them, in capitals or not;
   false: none has. */
bool help_search(struct text *, const struct cli_program *,
		 const struct cli_option *few, const struct cli_option *peers,
		 const char *word);

#endif
