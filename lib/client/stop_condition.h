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

/* Reads a condition; false: the text is not one. */
bool stop_condition_read(struct stop_condition *, const char *text);

/* True if this value of the metric fulfils the condition. */
bool stop_condition_meets(const struct stop_condition *, double value);

/*
 * Compares the evaluation with the condition.  1: it holds; 0: it does not, or
 * there is no condition; -1: the evaluation has no such metric (FAIL_USAGE).
 * With a metric that is not a number (NaN) no condition holds.
 */
int stop_condition_holds(const struct stop_condition *,
			 const struct evaluation *, struct fail *);

/* Fails, with -1, as there is no such metric (FAIL_USAGE); the failure lists
   the metrics of the evaluation, if that is not NULL. */
int stop_condition_unknown(const struct stop_condition *,
			   const struct evaluation *, struct fail *);

#endif
