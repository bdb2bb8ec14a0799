/*
 * choices - the names that there are, for an error about one that there is not.
 *
 *	struct choices c = { .word = "adm" };
 *
 *	for (each name that there is)
 *		choices_add(&c, name);
 *	return choices_refuse(&c, FAIL_CONFIG, "model.ps:7", "optimizer", f);
 *
 *	model.ps:7: unknown optimizer 'adm', there are: adam sgd; did you mean
 *	adam?
 */
#ifndef PS_CHOICES_H
#define PS_CHOICES_H

#include "base/fail.h"
#include "base/text.h"

#include <stddef.h>

struct choices {
	const char *word;	/* as a user wrote it; borrowed */
	const char *nearest;	/* of the names; borrowed; NULL: none is near */
	size_t distance;	/* of that one from the word */
	struct text names;
};

void choices_release(struct choices *);

/*
 * One of the names, borrowed.  It is near the word if at most a third of the
 * letters, and always one, were left out, put in, exchanged, or swapped with
 * a neighbour.  Of two that are equally near the first one counts.
 */
void choices_add(struct choices *, const char *name);

/*
 * A failure with that text, and behind it "; did you mean NAME?" if a name is
 * near, -1; the choices are released.
 */
int choices_fail(struct choices *, enum fail_kind, struct fail *,
		 const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The same with "WHERE: unknown WHAT 'WORD', there are: NAME ..."; WHERE may be
 * NULL.
 */
int choices_refuse(struct choices *, enum fail_kind, const char *where,
		   const char *what, struct fail *);

#endif
