/*
 * lexer - the lines of a model file, cut into words.
 *
 * Words stand between blanks; those with an equals sign inside are settings
 * (see settings), "=" alone is a word.  '#' at the start of a word begins a
 * comment; "quotes" keep blanks, '#' and '=' together.
 */
#ifndef PS_LEXER_H
#define PS_LEXER_H

#include "base/fail.h"
#include "base/settings.h"

#include <stddef.h>

#define STATEMENT_LINES	10000		/* a model file has no more, */
#define STATEMENT_SETTINGS	100	/* nor a line */

struct statement {
	char **word;
	size_t words;
	struct settings settings;	/* .where says which line this is */
};

struct statements {
	struct statement *list;
	size_t count, room;
};

/* Of a whole file, called name in messages; empty lines are left out. */
int statements_read(struct statements *, const char *name, const char *text,
		    struct fail *);
void statements_release(struct statements *);

#endif
