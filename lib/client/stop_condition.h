/*
 * stop_condition - a condition on an evaluation: "auc>=0.9".
 */
#ifndef PS_STOP_CONDITION_H
#define PS_STOP_CONDITION_H

#include "client/evaluation.h"

#include <stdbool.h>

#define CONDITION_NAME	64

enum relation { CONDITION_EQ, CONDITION_GE, CONDITION_LE, CONDITION_GT,
	CONDITION_LT };

struct stop_condition {
	char metric[CONDITION_NAME];	/* or "loss"; "": no condition */
	enum relation is;
	double value;
};

/* false: it is none. */
bool stop_condition_read(struct stop_condition *, const char *text);

/* Does the metric's value? */
bool stop_condition_meets(const struct stop_condition *, double value);

/*
 * 1: it holds; 0: not, or there is no condition; -1: the evaluation has no
 * such metric (FAIL_USAGE).  What is not a number holds nothing.
 */
int stop_condition_holds(const struct stop_condition *,
			 const struct evaluation *, struct fail *);

/* Always -1: that there is no such metric (FAIL_USAGE), but those of the
   evaluation, if not NULL. */
int stop_condition_unknown(const struct stop_condition *,
			   const struct evaluation *, struct fail *);

#endif
