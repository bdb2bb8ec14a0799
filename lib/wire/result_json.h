/*
 * result_json - the values in a line of results, as JSON.
 */
#ifndef PS_RESULT_JSON_H
#define PS_RESULT_JSON_H

#include "base/text.h"
#include "model/metric.h"

/* A string in quotes; bytes that are not UTF-8 become question marks. */
void result_json_string(struct text *, const char *);
void result_json_number(struct text *, double);	/* null if it is not finite */

/*
 * Writes "examples":9,"loss":0.5,"metrics":{"accuracy":0.9}, without braces
 * around it.  loss: the sum over the examples, whose mean is written.  state:
 * one for each metric.
 */
void result_json_scores(struct text *, uint64_t examples, double loss,
			const struct metric *, size_t count,
			const struct metric_state *);

#endif
