/*
 * result - what a worker reports of its steps, and of an evaluation.
 *
 * Results travel in the first frame of DONE and EVALUATED, as a MessagePack
 * array of numbers each, and last what a program gave back; a double is its 64
 * bits.  Behind it come the scores
 * (little-endian floats) and labels (a byte each, 0 or 1) of all results, if
 * the model has a metric that needs them (auc).
 */
#ifndef PS_RESULT_H
#define PS_RESULT_H

#include "base/fail.h"
#include "model/batch.h"
#include "model/metric.h"
#include "wire/message.h"
#include "wire/pack.h"

#define RESULT_METRICS	16	/* of a model, at most */
#define RESULT_JSON	((size_t)1 << 20)	/* bytes of a step's, at most */
#define RESULT_SCORES	(WIRE_FRAME / sizeof(float))	/* of a message */

/* Bytes of gradients that were pushed, or of values that were pulled. */
struct moved {
	uint64_t bytes, floats;	/* as they travelled, and as floats; and of */
	uint64_t coded;		/* these those that a codec was for */
};

struct traffic {
	struct moved pushed, pulled;
	double squares, errors;	/* of coded gradients, of one step in
				   TRAFFIC_SAMPLE: sums of squares of what they
				   are, and of what they came to less that */
};

#define TRAFFIC_SAMPLE	16

void traffic_add(struct traffic *, const struct traffic *);
/* Eight numbers of an array. */
void traffic_write(struct pack *, const struct traffic *);
struct traffic traffic_read(struct unpack *);

struct result {
	uint64_t step, attempt, examples, staleness, microseconds;
	bool voided;		/* the servers refused it: it was given up */
	bool mixed;		/* servers had some parts, which may be of
				   another attempt */
	double loss;		/* summed over examples */
	size_t metrics;
	double sum[RESULT_METRICS][METRIC_SUMS];
	size_t scores;		/* how many of the scores are its own */
	struct noes noes;	/* of its labels */
	struct traffic traffic;
	struct frame json;	/* what its program gave back, in a line;
				   borrowed; empty: nothing */
};

/* The sums of metric states; the scores are counted, not copied. */
void result_metrics(struct result *, const struct metric *, size_t count,
		    const struct metric_state *);

void result_write(struct pack *, const struct result *);

/* From the cursor; false on a misfit. */
bool result_read(struct unpack *, struct result *, size_t metrics);

/* Add a result's sums, and its scores if it has any, to metric states. */
void result_add(const struct result *, const struct metric *,
		struct metric_state *, const float *scores,
		const unsigned char *positive);

/* The scores and labels of a message: how many, or -1 for a misfit. */
int result_scores(const struct message *, const void **scores,
		  const unsigned char **positive, size_t *count,
		  struct fail *);

#endif
