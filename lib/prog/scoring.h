/*
 * scoring - evaluations: examples from the inputs, lines on the output.
 *
 * One way for both: batches are read, their values come from a checkpoint or
 * from the live model, what they are scored with is added up, and printed.
 */
#ifndef PS_SCORING_H
#define PS_SCORING_H

#include "prog/eval_options.h"
#include "prog/prefetch.h"
#include "prog/scores.h"
#include "store/checkpoint.h"

struct scoring {
	const struct eval_settings *s;	/* borrowed */
	const char *renew;		/* --predict goes on with newer
					   checkpoints of this folder; NULL:
					   it keeps to one; borrowed */
	struct newer *newer;		/* then */
	uint64_t predicted;		/* records */
	const struct model *model;	/* NULL: not begun */
	size_t dataset;			/* of it, that is scored */
	struct prefetch *data;
	struct batch batch;
	bool over;			/* no more batches */
	bool warned;			/* of values that are not finite */
	uint64_t began_ms;
	struct scores *to;		/* borrowed */
	size_t ended;			/* evaluations so far */
	bool final;			/* the last checkpoint was that */
	bool met;			/* --until is, now or before */
};

/* Always -1: FAIL_AGAIN. */
int scoring_stopped(struct fail *);

/*
 * Score a checkpoint, which is taken over.  0: done, or ->to has it; 1: the
 * checkpoint gave out, and the failure says why; -1: the inputs or the output
 * did, or scoring_stopped().
 */
int scoring_checkpoint(struct scoring *, struct checkpoint **,
		       struct fail *);

/* The live model.  -1 if that gives out, too. */
int scoring_live(struct scoring *, struct fail *);

#endif
