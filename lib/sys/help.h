/*
 * help - writes the text of --help, a synopsis and a list, from tables of
 * options.
 *
 * Completion in shells (bin/completion.bash) reads this text, too.
 */
#ifndef PS_HELP_H
#define PS_HELP_H

#include "base/text.h"
#include "sys/cli.h"

#include <stdbool.h>

/* May an argument be left out?  "[BUFFER]" may; "[LAYER=]COMMAND" may not. */
bool help_may_lack(const char *argument);

/*
 * Append the help of a program.  few are the options of every program, all with
 * letters; peers those of programs that have peers, or NULL.
 */
void help_write(struct text *, const struct cli_program *,
		const struct cli_option *few, const struct cli_option *peers);

/* Append the options and commands of the same list whose name, argument or help
   has a word, in any case of letters.  false: none has it. */
bool help_search(struct text *, const struct cli_program *,
		 const struct cli_option *few, const struct cli_option *peers,
		 const char *word);

#endif
