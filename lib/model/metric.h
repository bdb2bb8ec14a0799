/*
 * metric - accumulators over predictions: add examples, merge, read off.
 *
 * Exact: AUC keeps every score, with ties counted half.  States of several
 * workers merge to what one would have had.
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
	const char *name;	/* NULL: the kind's */
	float threshold;	/* accuracy, precision, recall, f1_score: .5 */
	uint64_t k;		/* of the largest, one is to be the label: 5 */
	bool logits;		/* what it is given is logits, not what a
				   sigmoid or softmax makes of them: only for
				   one that keeps scores */
	bool margin;		/* ... of a softmax: the score is how far the
				   second of two is above the first */
	bool weighted;		/* examples count by their weights */
};

int metric_parse(struct metric *, const char *name, struct fail *);

/* One of which others say what examples add to it; the name is borrowed. */
struct metric metric_mean(const char *name);
const char *metric_name(const struct metric *);

/* How many classes it tells apart at most; 0: it is of any numbers. */
size_t metric_classes(const struct metric *);
bool metric_takes_k(const struct metric *);	/* and wants several classes */
bool metric_keeps_scores(const struct metric *);	/* as auc does */

#define METRIC_SUMS	4

struct metric_state {
	double sum[METRIC_SUMS];	/* what they are, the kind knows */
	float *score;			/* auc only: count scores, positive */
	unsigned char *positive;	/* beside them 1 or 0 */
	size_t count, score_room, positive_room;
};

void metric_release(struct metric_state *);
void metric_reset(struct metric_state *);

/*
 * Predictions are n x width probabilities (or values, for regression);
 * labels n: 0 or 1 when width is 1, else a class; weights n, or NULL: all are
 * 1, as they are of one that keeps scores.  With several columns those of two
 * classes are of class 1 against the rest, and errors are those from 1 in the
 * class's column and 0 elsewhere.
 */
void metric_add(const struct metric *, struct metric_state *,
		const float *prediction, size_t width, const float *label,
		const float *weight, size_t n);
void metric_add_mean(struct metric_state *, double sum, double weight);
void metric_merge(const struct metric *, struct metric_state *,
		  const struct metric_state *from);
/* NaN when there is nothing to tell it from. */
double metric_value(const struct metric *, const struct metric_state *);

#endif
