/*
 * scoring - evaluations: examples from the inputs, lines on the output.
 *
 * A checkpoint is scored in one call.  For the live model, whose values come
 * when they come, the steps are apart:
 *
 *	scoring_begin()		open the inputs
 *	scoring_next()		a batch; evaluate it
 *	scoring_add()		...and print its predictions, if wanted
 *	scoring_end()		print the line of results
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

/*
 * -1: the inputs cannot be opened, or --until (of an empty evaluation of this
 * model) asks for what there is not.
 */
int scoring_begin(struct scoring *, const struct model *,
		  const struct evaluation *, struct fail *);

/*
 * 1: the next one is in ->batch; 0: it is ->over, or not there yet, and
 * scoring_fd() becomes readable when it is; -1: the inputs are bad.
 */
int scoring_next(struct scoring *, struct fail *);
int scoring_fd(const struct scoring *);

/* -1: the output takes no more. */
int scoring_add(struct scoring *, const struct evaluation *, struct fail *);

/* The same; from is the checkpoint, or NULL for the live model. */
int scoring_end(struct scoring *, const struct evaluation *, uint64_t step,
		const struct checkpoint *from, struct fail *);

/* Close the inputs; the rest stays. */
void scoring_close(struct scoring *);

/* Always -1: FAIL_AGAIN. */
int scoring_stopped(struct fail *);

/*
 * All of this with a checkpoint, which is taken over.  0: done, or ->to has
 * it; 1: the checkpoint gave out, and the failure says why; -1: the inputs or
 * the output did, or scoring_stopped().
 */
int scoring_checkpoint(struct scoring *, struct checkpoint **,
		       struct fail *);

#endif
