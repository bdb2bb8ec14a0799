/*
 * definitions - names that stand for texts in a model file, as ${name}.
 *
 * They exist only while the file is read: the model that is sent and stored in
 * checkpoints has the texts in their place.
 */
#ifndef PS_DEFINITIONS_H
#define PS_DEFINITIONS_H

#include "base/fail.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct definition {
	char *name;
	const char *value;	/* borrowed */
	bool used;
};

/* { 0 } is an empty list. */
struct definitions {
	struct definition *list;
	size_t count;
};

/*
 * Add "NAME=VALUE"; the value is borrowed from the text.  Return 0; or -1 with
 * FAIL_CONFIG if the text has another form, or the name has a value already.
 */
int definitions_add(struct definitions *, const char *text, struct fail *);
void definitions_release(struct definitions *);

/*
 * Append the text to out, with each ${NAME} replaced, except in comments, and
 * each $${ replaced by ${.  The text has size bytes and a NUL behind them;
 * messages call it file.  Return 0; or -1 with FAIL_CONFIG: a name is not
 * defined or not a name, a definition is not used, or out has more than limit
 * bytes.
 */
int definitions_expand(struct definitions *, const char *file,
		       const char *text, size_t size, size_t limit,
		       struct text *out, struct fail *);

#endif
