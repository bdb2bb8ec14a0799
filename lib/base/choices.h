/*
 * choices - the error message for an unknown name: it lists the known names and
 * suggests the one that was probably meant.
 *
 *	struct choices c = { .word = "adm" };
 *
 *	for (each known name)
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
	const char *nearest;	/* the nearest name; borrowed; NULL: none is
				   near */
	size_t distance;	/* changes from the word to that name */
	struct text names;	/* all, each with a blank before it */
};

void choices_release(struct choices *);

/*
 * Add a known name, which is borrowed.  A name is near the word if few changes
 * make one of the other: a letter more, a letter less, another letter, or two
 * neighbours swapped.  Few is a third of the letters of the longer one, at
 * least 1.  Of names that are equally near the first one counts.
 */
void choices_add(struct choices *, const char *name);

/*
 * Fail with a text, and "; did you mean NAME?" after it if a name is near.
 * Release the choices and return -1.
 */
int choices_fail(struct choices *, enum fail_kind, struct fail *,
		 const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The same with the text "WHERE: unknown WHAT 'WORD', there are: NAME ...";
 * WHERE may be NULL.
 */
int choices_refuse(struct choices *, enum fail_kind, const char *where,
		   const char *what, struct fail *);

#endif
