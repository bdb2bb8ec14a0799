/*
 * step_program - a step that a program of the user's computes: what the program
 * is sent of a batch, and what its answer is used for.  See ps-step(5).
 */
#ifndef PS_STEP_PROGRAM_H
#define PS_STEP_PROGRAM_H

#include "model/layer.h"

struct step_program;

/*
 * Return the program of one of the model's step lines, which the caller frees.
 * Model and externals are borrowed.
 */
struct step_program *step_program_new(const struct model *, size_t line,
				      const struct externals *);
void step_program_free(struct step_program *);

enum step_op { STEP_TRAIN, STEP_EVALUATE, STEP_PREDICT };

/* A batch to be computed, with at least one example if the line has inputs. */
struct step_batch {
	const struct batch *batch;
	const struct pass *pass;	/* of each node, after its forward
					   pass */
	const float *label;		/* one for each example */
	float *const *value;		/* of each variable: its values */
	float *const *gradient;		/* of each variable: where sums over
					   examples are to be put; NULL except
					   for STEP_TRAIN */
	uint64_t step, seed;
	uint64_t wants;			/* examples asked for, by a line without
					   inputs */
	const char *args;		/* a JSON object; NULL: {} */
};

/*
 * Send a batch to the program and wait for its answer.  Return 0; or -1 as
 * externals->call() does, with FAIL_DATA also if the answer contradicts the
 * batch, and FAIL_CONFIG if the line predicts nothing.
 */
int step_program_run(struct step_program *, enum step_op,
		     const struct step_batch *, struct fail *);

/*
 * The same in two halves: send the batch; then take the answer when it is
 * there, or wait for it.  The batch must not change in between.
 */
int step_program_ask(struct step_program *, enum step_op,
		     const struct step_batch *, struct fail *);
bool step_program_answered(const struct step_program *);
int step_program_take(struct step_program *, struct fail *);

/*
 * Return whether the program sets the whole gradient of variable v, unless it
 * fails, so that it need not be zeroed.
 */
bool step_program_fills(const struct step_program *, size_t v);

/*
 * Return of the last run: the loss, summed over the examples, and the number of
 * examples.
 */
double step_program_loss(const struct step_program *);
uint64_t step_program_examples(const struct step_program *);
/*
 * Return whether the program had no more data of its own; then there is no
 * other result.
 */
bool step_program_ended(const struct step_program *);
/* Add the program's metrics to one state for each metric of the model. */
void step_program_metrics(const struct step_program *, struct metric_state *);
/*
 * Return the program's result, JSON on one line, good until the next run;
 * empty: none.
 */
const struct text *step_program_result(const struct step_program *);
/* Return the predictions, examples x model_outputs(), of STEP_PREDICT. */
const float *step_program_prediction(const struct step_program *);

/*
 * After STEP_TRAIN: add the gradients that the program answered for the layers
 * that it was sent to the layers' gradients.
 */
void step_program_add(const struct step_program *, const struct pass *);

#endif
