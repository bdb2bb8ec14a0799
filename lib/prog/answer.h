/*
 * answer - read the line that begins a program's answer: see ps-external(5) and
 * ps-step(5).
 */
#ifndef PS_ANSWER_H
#define PS_ANSWER_H

#include "base/fail.h"
#include "model/external.h"

#define ANSWER_LAYER	((size_t)1 << 14)	/* bytes of a layer's line, at
						   most */
#define ANSWER_STEP	((size_t)2 << 20)
#define ANSWER_RESULT	((size_t)1 << 20)	/* bytes of its member "result",
						   at most */

enum answer {
	ANSWER_GOOD,		/* the arrays follow the line */
	ANSWER_ENDED,		/* nothing follows: the program has no more
				   data */
	ANSWER_UNFIT,		/* the arrays follow, but the line is wrong:
				   FAIL_DATA */
	ANSWER_REFUSED,		/* the program has failed: FAIL_DATA, and
				   nothing follows */
	ANSWER_NONE		/* the line does not begin an answer; if it is
				   not JSON: FAIL_PROTOCOL, and why */
};

/*
 * Read the line, without its newline.  For a layer `to` is NULL; for a step it
 * has the default of each member when it comes in.
 */
enum answer answer_read(const char *line, size_t size,
			struct external_answer *to, struct fail *);

/*
 * Check the shapes in a good line of a layer, if it has any, against the arrays
 * that are wanted.  Return 0; or -1 with FAIL_DATA if the shape of an array is
 * wrong but its numbers follow nevertheless, or with FAIL_PROTOCOL if it has
 * more or fewer numbers than are wanted.
 */
int answer_check_shapes(const char *line, size_t size,
			const struct external_array *wanted, size_t wanteds,
			struct fail *);

#endif
