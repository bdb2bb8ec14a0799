/*
 * answer - the line that begins a program's answer: see ps-external(5) and
 * ps-step(5).
 */
#ifndef PS_ANSWER_H
#define PS_ANSWER_H

#include "base/fail.h"
#include "model/external.h"

#define ANSWER_LAYER	((size_t)1 << 14)	/* bytes of a line, at most */
#define ANSWER_STEP	((size_t)2 << 20)
#define ANSWER_RESULT	((size_t)1 << 20)	/* of its member "result" */

enum answer {
	ANSWER_GOOD,		/* the arrays follow */
	ANSWER_ENDED,		/* nothing does: it has no more data */
	ANSWER_UNFIT,		/* they do, but FAIL_DATA: it cannot be */
	ANSWER_REFUSED,		/* FAIL_DATA: nothing follows */
	ANSWER_NONE		/* no answer begins so */
};

/* Without its newline.  Of a layer to is NULL; of a step it holds what the
   answer is if it does not say. */
enum answer answer_read(const char *line, size_t size,
			struct external_answer *to, struct fail *);

/*
 * A good line of a layer may have the shapes of arrays: are they those that
 * are wanted?  FAIL_DATA: not of one, whose numbers follow nevertheless, or
 * FAIL_PROTOCOL: and they are more or fewer.
 */
int answer_check_shapes(const char *line, size_t size,
			const struct external_array *wanted, size_t wanteds,
			struct fail *);

#endif
