/*
 * result - what a worker reports of its steps, and of an evaluation.
 *
 * Results travel in the first frame of DONE and EVALUATED.  Each is a
 * MessagePack array of numbers, with a double as its 64 bits; its last item is
 * what an external program gave back.  If the model has a metric that needs
 * them (auc), a second frame has the scores of all results, little-endian
 * floats, and a third their labels, a byte each, 0 or 1.
 */
#ifndef PS_RESULT_H
#define PS_RESULT_H

#include "base/fail.h"
#include "model/batch.h"
#include "model/metric.h"
#include "wire/message.h"
#include "wire/pack.h"

#define RESULT_METRICS	16	/* of a model, at most */
#define RESULT_JSON	((size_t)1 << 20)	/* of a step's JSON, at most */
#define RESULT_SCORES	(WIRE_FRAME / sizeof(float))	/* of a message */

/* What was pushed, or pulled. */
struct moved {
	uint64_t bytes, floats;	/* bytes: as they travelled; floats: bytes of
				   the same as floats */
	uint64_t coded;		/* of `floats', the part that a codec encoded */
};

struct traffic {
	struct moved pushed, pulled;
	double squares, errors;	/* sums over the coded gradients of one step in
				   TRAFFIC_SAMPLE: of the squares of the
				   numbers, and of their errors */
};

#define TRAFFIC_SAMPLE	16

void traffic_add(struct traffic *, const struct traffic *);
/* Write the traffic as eight numbers of an array; and read it. */
void traffic_write(struct pack *, const struct traffic *);
struct traffic traffic_read(struct unpack *);

struct result {
	uint64_t step, attempt, examples, staleness, microseconds;
	bool voided;		/* the servers refused its push: the step was
				   given up */
	bool mixed;		/* servers had applied some of its parts before,
				   perhaps of another attempt */
	double loss;		/* summed over examples */
	size_t metrics;
	double sum[RESULT_METRICS][METRIC_SUMS];
	size_t scores;		/* how many scores are this result's */
	struct negative_labels negatives;	/* of its labels */
	struct traffic traffic;
	double kept;		/* the sum of squares of the residual that its
				   push leaves */
	struct frame json;	/* what its program gave back, in one line;
				   borrowed; empty: nothing */
};

/* Fill in the sums of a result from metric states; the scores are only
   counted. */
void result_metrics(struct result *, const struct metric *, size_t count,
		    const struct metric_state *);

void result_write(struct pack *, const struct result *);

/* Read the next result.  false: it is malformed. */
bool result_read(struct unpack *, struct result *, size_t metrics);

/* Add a result's sums, and its scores if it has any, to metric states, one for
   each metric.  The result's scores and labels begin at the pointers. */
void result_add(const struct result *, const struct metric *,
		struct metric_state *, const float *scores,
		const unsigned char *positive);

/* Find the scores and labels of a message, which stay its own, and their
   number.  -1 (FAIL_PROTOCOL): they do not fit each other. */
int result_scores(const struct message *, const void **scores,
		  const unsigned char **positive, size_t *count,
		  struct fail *);

#endif
