/*
 * compute - run a model on a batch: loss, gradients, predictions.
 *
 * How a step goes:
 *
 *	compute_prepare(model, batch, sorter);	by any thread, or left out
 *	compute_begin(c, batch);
 *	for each variable v of the model:
 *		rows = compute_rows(c, v);	pull these
 *		compute_value(c, v)		put them here
 *	compute_train(c, seed, state);		or compute_forward(c)
 *	for each variable v:
 *		compute_gradient(c, v)		push these
 *
 * A gradient is a sum over the examples of the batch; that of a regularizer is
 * multiplied by the number of examples.  So gradients of parts of a batch can
 * be added, and the server divides once, when it applies them.
 */
#ifndef PS_COMPUTE_H
#define PS_COMPUTE_H

#include "base/crew.h"
#include "base/refcount.h"
#include "model/batch.h"
#include "model/external.h"
#include "model/model.h"
#include "tensor/clip.h"

#include <stdbool.h>

struct compute;

/*
 * Return a new compute for a model; both arguments are borrowed, and the caller
 * frees the compute.  externals may be NULL for a model that has no external
 * layers or steps.
 */
struct compute *compute_new(const struct model *, const struct externals *);
void compute_free(struct compute *);

/*
 * Let the members of this crew, which is borrowed, share the training of each
 * batch from now on.  A batch is cut into blocks, as its size and the model
 * alone decide, and the blocks' gradients, losses and metrics are added in a
 * tree over the blocks' numbers.  So results do not depend on the number of
 * members.  At a layer that is a barrier all blocks wait for each other.  A
 * model with another layer that needs the whole batch, or with a program of its
 * own, has one block.  compute_blocks() returns the number of blocks of a
 * batch, from 1 to BLOCKS.
 */
void compute_share(struct compute *, struct crew *);
size_t compute_blocks(const struct model *, size_t examples);

/*
 * Find the rows of tables that a batch needs, unless that is done already: most
 * of the work of a step that can be done before its turn.
 */
void compute_prepare(const struct model *, struct batch *, struct sorter *);
/*
 * Find also which rows each of its blocks needs, if the batch is prepared and
 * is to be trained with.
 */
void compute_prepare_blocks(const struct model *, struct batch *);

/*
 * Choose the step line of the steps from the next compute_begin() on.  Only the
 * layers and variables of that line take part.  The default is 0, as in a model
 * without step lines.
 */
void compute_choose(struct compute *, size_t line);
size_t compute_line(const struct compute *);
/*
 * Return whether the chosen line pulls variable v, and whether it pushes to v.
 */
bool compute_uses(const struct compute *, size_t v);
bool compute_trains(const struct compute *, size_t v);

/*
 * Begin a step with a batch, which is prepared if need be, and borrowed until
 * the next begin.
 */
void compute_begin(struct compute *, struct batch *);

/*
 * Return how many times a step was begun: while the number stays the same, so
 * do the rows.
 */
uint64_t compute_begun(const struct compute *);

/*
 * Return the rows of variable v that the batch needs.  For a table: count ids,
 * sorted, each once; for a hashed table its keys (see tensor/table.h).  For any
 * other variable ids is NULL and count is the number of all its rows.  If the
 * step does not use the variable, count is 0.  The ids are good until the next
 * begin.
 */
struct compute_rows {
	const uint64_t *ids;
	size_t count;
};
struct compute_rows compute_rows(const struct compute *, size_t v);

float *compute_value(struct compute *, size_t v);	/* count x width */
float *compute_gradient(struct compute *, size_t v);	/* the same */

/*
 * Return the reference count of the memory that a gradient lies in.  While
 * others refer to that memory it is not written: the next begin takes other
 * memory.
 */
struct refcount *compute_gradient_hold(const struct compute *, size_t v);

/*
 * Compute the loss and the gradients; dropout is drawn from seed.  Predictions
 * on the way are added to one metric state for each metric, unless state is
 * NULL.  Of a large batch a part is computed at a time, small enough to stay in
 * the processor's cache from one layer to the next and back.  A failure is
 * reported by compute_check().
 */
void compute_train(struct compute *, uint64_t seed, struct metric_state *);

/*
 * The same in two halves, for a step that a program of the user's computes:
 * compute_train_ask() sends it the batch, and compute_train_take() takes the
 * answer, or waits for it.  Between the two the compute and its batch must not
 * be touched.  compute_asks() returns whether the step has a program,
 * compute_answered() whether take need not wait.
 */
bool compute_asks(const struct compute *);
void compute_train_ask(struct compute *, uint64_t seed);
bool compute_answered(const struct compute *);
void compute_train_take(struct compute *, struct metric_state *);

/* Compute the loss and the predictions; or the predictions alone. */
void compute_forward(struct compute *);
void compute_predict(struct compute *);

/*
 * For a model whose steps a program computes: set the number of the next step,
 * the number of examples to ask for if the program has data of its own, and the
 * arguments: a JSON object, or NULL.
 */
void compute_step(struct compute *, uint64_t step, uint64_t examples,
		  const char *args);

/*
 * Return whether the program's own data ended in the last pass; then it does
 * not count as a step.
 */
bool compute_ended(const struct compute *);

/*
 * Return the result that the program answered in the last pass, JSON on one
 * line, good until the next pass; empty: none.
 */
struct text compute_result(const struct compute *);

/*
 * Return the number of examples that the last pass counts: those of the batch,
 * or as many as the program of the step says.
 */
uint64_t compute_examples(const struct compute *);

/*
 * Return the sum of the loss over the examples, plus the number of examples
 * times the penalties of the regularizers (as Keras adds them to the mean).
 * Outside training the penalties of tables are left out, so that a score does
 * not depend on how the examples were cut into batches.  Return 0 without
 * labels.
 */
double compute_loss(const struct compute *);

/*
 * Set the loss and the number of examples of a step of several batches, whose
 * gradient the caller has put in place; see accumulate.
 */
void compute_set_loss(struct compute *, double loss, uint64_t examples);

/* Add the predictions of the last forward pass to one state for each metric. */
void compute_metrics(const struct compute *, struct metric_state *);

/*
 * Return the predictions, examples x model_outputs(): probabilities, or values
 * for regression.  After training in one block only those of the last examples
 * are there.  Of a program's steps there are only those of compute_predict().
 */
const float *compute_prediction(const struct compute *);

/*
 * Return the failure of an external layer or a step's program in the last
 * training or forward pass, whose numbers are of no use then; or NULL.  See
 * struct externals.
 */
const struct fail *compute_failure(const struct compute *);

/* Clip the gradients as the variables' optimizers ask (see tensor/clip.h). */
void compute_clip(struct compute *);

#define COMPUTE_ADVICE	"; a smaller learning_rate or a clipnorm may help"

/*
 * Check that the loss and every gradient are finite.  Return 0; or -1 with
 * FAIL_DATA, which names the variable, or with the failure of
 * compute_failure().
 */
int compute_check(struct compute *, struct fail *);

/*
 * Return whether the absolute value of some number of a variable's gradient is
 * above most.  compute_check() must have been called for the gradient, which
 * may have been clipped since.
 */
bool compute_beyond(const struct compute *, size_t variable, float most);

/*
 * Return whether the pulled values of a variable are finite; true for a
 * variable that no layer uses.  compute_infinite() returns the name of a
 * variable whose values are not, or NULL.
 */
bool compute_finite(const struct compute *, size_t variable);
const char *compute_infinite(const struct compute *);

#endif
