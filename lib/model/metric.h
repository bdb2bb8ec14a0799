/*
 * metric - accumulators over predictions: add examples, merge, read the value.
 *
 * Metrics are exact: AUC keeps every score, and ties count half.  The merged
 * states of several workers are what one worker would have had, up to the
 * rounding of sums.
 */
#ifndef PS_METRIC_H
#define PS_METRIC_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metric_kind;

/* One "metric" line of a model. */
struct metric {
	const struct metric_kind *kind;
	const char *name;	/* NULL: the kind's name */
	float threshold;	/* for accuracy, precision, recall, f1_score;
				   default .5 */
	uint64_t k;		/* the label is to be among the k largest;
				   default 5 */
	bool logits;		/* predictions are logits, not what a sigmoid or
				   softmax makes of them: only for a metric that
				   keeps scores */
	bool margin;		/* the logits are those of a softmax of two: the
				   score is the second minus the first */
	bool weighted;		/* examples count as much as their weights */
};

/*
 * Read a metric by its name, with the defaults of its settings.  Return 0, or
 * -1 with FAIL_CONFIG.
 */
int metric_parse(struct metric *, const char *name, struct fail *);

/*
 * Return a metric that is a plain mean, to which the caller adds sums by
 * metric_add_mean(); the name is borrowed.
 */
struct metric metric_mean(const char *name);
const char *metric_name(const struct metric *);

/*
 * Return the number of classes that it can tell apart, at most; 0: labels are
 * any numbers.
 */
size_t metric_classes(const struct metric *);
bool metric_takes_k(const struct metric *);	/* k=, and several classes */
bool metric_keeps_scores(const struct metric *);	/* every score, as auc
							   does */

#define METRIC_SUMS	4

struct metric_state {
	double sum[METRIC_SUMS];	/* what they mean depends on the kind */
	float *score;			/* auc only: count scores, */
	unsigned char *positive;	/* and whether each label is 1 */
	size_t count, score_room, positive_room;
};

void metric_release(struct metric_state *);
void metric_reset(struct metric_state *);

/*
 * Add n examples.  Predictions are n x width probabilities (or values, for
 * regression).  Labels are 0 or 1 when width is 1, else a class.  Weights are
 * NULL when all are 1, as they are for a metric that keeps scores.  With
 * several columns, a metric of two classes takes column 1 against the rest, and
 * an error is the difference from 1 in the column of the class and from 0 in
 * the others.
 */
void metric_add(const struct metric *, struct metric_state *,
		const float *prediction, size_t width, const float *label,
		const float *weight, size_t n);
void metric_add_mean(struct metric_state *, double sum, double weight);
/* Add what another state has. */
void metric_merge(const struct metric *, struct metric_state *,
		  const struct metric_state *from);
/* Return the value; NaN when nothing was added that decides it. */
double metric_value(const struct metric *, const struct metric_state *);

#endif
