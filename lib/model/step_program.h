/*
 * step_program - a step that a program of the user's computes: what it is
 * sent of a batch, and what comes of its answer.  See ps-step(5).
 */
#ifndef PS_STEP_PROGRAM_H
#define PS_STEP_PROGRAM_H

#include "model/layer.h"

struct step_program;

/* Both borrowed; of that one of the model's lines. */
struct step_program *step_program_new(const struct model *, size_t line,
				      const struct externals *);
void step_program_free(struct step_program *);

enum step_op { STEP_TRAIN, STEP_EVALUATE, STEP_PREDICT };

/* A batch at hand, of one example at least if the line is sent any. */
struct step_batch {
	const struct batch *batch;
	const struct pass *pass;	/* of each node, computed */
	const float *label;		/* examples */
	float *const *value;		/* of each variable: its values, */
	float *const *gradient;		/* and where the sums over examples
					   go; NULL but for STEP_TRAIN */
	uint64_t step, seed;
	uint64_t wants;			/* examples of a line that is sent
					   none */
	const char *args;		/* JSON of an object; NULL: {} */
};

/* -1: as struct externals has it; FAIL_DATA, too, if what it says of the
   batch cannot be. */
int step_program_run(struct step_program *, enum step_op,
		     const struct step_batch *, struct fail *);

/*
 * The same in two halves: it is asked, and what came of it is taken when it has
 * answered, or waited for.  The batch stays as it is in between.
 */
int step_program_ask(struct step_program *, enum step_op,
		     const struct step_batch *, struct fail *);
bool step_program_answered(const struct step_program *);
int step_program_take(struct step_program *, struct fail *);

/* The gradient of variable v is filled by it, and by nobody else, unless it
   fails. */
bool step_program_fills(const struct step_program *, size_t v);

/* Of the last run: the loss, summed over so many examples. */
double step_program_loss(const struct step_program *);
uint64_t step_program_examples(const struct step_program *);
/* ... it had no more data of its own, and says nothing else. */
bool step_program_ended(const struct step_program *);
void step_program_metrics(const struct step_program *, struct metric_state *);
/* ... what it gave back, as JSON in a line, good until the next run; empty:
   nothing. */
const struct text *step_program_result(const struct step_program *);
/* ... examples x model_outputs(), of STEP_PREDICT. */
const float *step_program_prediction(const struct step_program *);

/*
 * Of STEP_TRAIN: add what it answered to the gradients of those layers that it
 * was sent, which are there.
 */
void step_program_add(const struct step_program *, const struct pass *);

#endif
