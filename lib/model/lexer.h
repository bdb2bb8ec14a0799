/*
 * lexer - the lines of a model file, cut into words.
 *
 * Words stand between blanks.  A word with an equals sign inside is a setting
 * (see base/settings.h); "=" alone is a word.  '#' at the start of a word
 * begins a comment.  Quotes keep blanks, '#' and '=' together: "a b".
 */
#ifndef PS_LEXER_H
#define PS_LEXER_H

#include "base/fail.h"
#include "base/settings.h"

#include <stddef.h>

#define STATEMENT_LINES	10000		/* lines of a model file, at most */
#define STATEMENT_SETTINGS	100	/* settings of a line, at most */

struct statement {
	char **word;
	size_t words;
	struct settings settings;	/* .where names the file and the line */
};

struct statements {
	struct statement *list;
	size_t count, room;
};

/*
 * Read the lines of a whole file, which messages call name; empty lines are
 * left out.  Return 0, or -1 with FAIL_CONFIG.  The caller releases the
 * statements in both cases.
 */
int statements_read(struct statements *, const char *name, const char *text,
		    struct fail *);
void statements_release(struct statements *);

#endif
