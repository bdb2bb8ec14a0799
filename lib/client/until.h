/*
 * until - a condition on an evaluation: "auc>=0.9".
 */
#ifndef PS_UNTIL_H
#define PS_UNTIL_H

#include "client/evaluation.h"

#include <stdbool.h>

#define UNTIL_NAME	64

enum relation { UNTIL_EQ, UNTIL_GE, UNTIL_LE, UNTIL_GT, UNTIL_LT };

struct until {
	char metric[UNTIL_NAME];	/* or "loss"; "": no condition */
	enum relation is;
	double value;
};

/* false: it is none. */
bool until_read(struct until *, const char *text);

/* Does the metric's value? */
bool until_meets(const struct until *, double value);

/*
 * 1: it holds; 0: not, or there is no condition; -1: the evaluation has no
 * such metric (FAIL_USAGE).  What is not a number holds nothing.
 */
int until_holds(const struct until *, const struct evaluation *,
		struct fail *);

/* Always -1: that there is no such metric (FAIL_USAGE), but those of the
   evaluation, if not NULL. */
int until_unknown(const struct until *, const struct evaluation *,
		  struct fail *);

#endif
