/*
 * definitions - names that stand for texts in a model file, as ${name}.
 *
 * They are of the reading alone: what travels, and stands in checkpoints, has
 * the texts in their places.
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

/* { 0 } are none. */
struct definitions {
	struct definition *list;
	size_t count;
};

/* "NAME=VALUE"; FAIL_CONFIG: it is not, or the name has a value. */
int definitions_add(struct definitions *, const char *text, struct fail *);
void definitions_release(struct definitions *);

/*
 * Add to out the text, called file in messages, of so many bytes and a NUL
 * behind them, with each ${NAME} replaced, but in comments, and $${ by ${.
 * FAIL_CONFIG: a name that is not defined, one that is none, a definition that
 * is not used, or more than limit bytes.
 */
int definitions_expand(struct definitions *, const char *file,
		       const char *text, size_t size, size_t limit,
		       struct text *out, struct fail *);

#endif
