/*
 * scoring - evaluations: examples from the inputs, lines on the output.
 *
 * Both kinds go the same way: batches are read, their values come from a
 * checkpoint or from the live model, and the scores are added up and printed.
 */
#ifndef PS_SCORING_H
#define PS_SCORING_H

#include "prog/eval_options.h"
#include "prog/prefetch.h"
#include "prog/scores.h"
#include "store/checkpoint.h"

struct scoring {
	const struct eval_settings *s;	/* borrowed */
	const char *renew;		/* for --predict: a folder whose newer
					   checkpoints are changed to, borrowed;
					   NULL: the first one stays */
	struct newer *newer;		/* used for renew */
	uint64_t predicted;		/* records predicted so far */
	const struct model *model;	/* NULL: not begun */
	size_t dataset;			/* the data set that is scored */
	struct prefetch *data;
	struct batch batch;
	bool over;			/* no more batches */
	bool warned;			/* of values that are not finite */
	uint64_t began_ms;
	struct scores *to;		/* borrowed */
	size_t ended;			/* evaluations so far */
	bool final;			/* the last checkpoint was the final
					   one */
	bool met;			/* the condition of --until is met */
};

/* Fail with FAIL_AGAIN because the program was told to stop; returns -1. */
int scoring_stopped(struct fail *);

/*
 * Score a checkpoint, which is taken over.  Return 0 if it is scored, now or in
 * ->to before; 1 with the reason if the checkpoint cannot be used; -1 with the
 * reason if the inputs or the output fail, or the program is told to stop.
 */
int scoring_checkpoint(struct scoring *, struct checkpoint **,
		       struct fail *);

/*
 * Score the live model.  Return 0; or -1 with the reason, also if the model
 * cannot be had.
 */
int scoring_live(struct scoring *, struct fail *);

#endif
