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
 * Gradients are sums over the examples of the batch, those of the
 * regularizers times the number of examples, so that pieces add up and
 * whoever applies them divides once.
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
 * Both are borrowed.  Without externals, which are NULL then, the model has no
 * layers that need them.
 */
struct compute *compute_new(const struct model *, const struct externals *);
void compute_free(struct compute *);

/*
 * From now on batches are trained with by the members of this crew, which is
 * borrowed: in blocks, which the size of a batch and the model alone decide,
 * and whose gradients, losses and metrics are added in a tree over their
 * numbers.  So what it comes to does not depend on how many members there are.
 * At a layer that is a barrier the blocks meet.  A model with another layer
 * that needs the whole batch, or with a program of its own, has one block.
 */
void compute_share(struct compute *, struct crew *);
size_t compute_blocks(const struct model *, size_t examples);

/*
 * Find which rows of tables a batch needs, unless that is known: it is most of
 * what can be done of a step before its turn.
 */
void compute_prepare(const struct model *, struct batch *, struct sorter *);
/* ... and which its blocks have, if it is prepared and will be trained with. */
void compute_prepare_blocks(const struct model *, struct batch *);

/*
 * Which of the model's step lines the step is of: before it begins.  Only the
 * layers and variables of that line are computed with.  Of models without step
 * lines, and by default, it is 0.
 */
void compute_choose(struct compute *, size_t line);
size_t compute_line(const struct compute *);
/* Is variable v pulled for it, and is it pushed to? */
bool compute_uses(const struct compute *, size_t v);
bool compute_trains(const struct compute *, size_t v);

/* The batch is prepared, and borrowed until the next begin. */
void compute_begin(struct compute *, struct batch *);

/* How often it has begun: while that stays the same, so do the rows. */
uint64_t compute_begun(const struct compute *);

/*
 * The rows of variable v that the batch needs.  Of a table: count ids, sorted,
 * each once, duplicates of the batch gathered into one; of a hashed table its
 * keys (see tensor/table).  Of any other
 * variable: ids is NULL and count is all of its rows.  Of one that is not used
 * count is 0.
 */
struct compute_rows {
	const uint64_t *ids;
	size_t count;
};
struct compute_rows compute_rows(const struct compute *, size_t v);

float *compute_value(struct compute *, size_t v);	/* count x width */
float *compute_gradient(struct compute *, size_t v);	/* the same */

/*
 * What a gradient lies in.  While others refer to it, it is not written: the
 * next begin takes fresh memory.
 */
struct refcount *compute_gradient_hold(const struct compute *, size_t v);

/*
 * The loss and the gradients; dropout is drawn from seed.  What is predicted
 * on the way is added to one state for each metric, unless that is NULL.
 * Of large batches some examples at a time are computed, which stay in the
 * processor's cache from one layer to the next and back.
 */
void compute_train(struct compute *, uint64_t seed, struct metric_state *);

/*
 * The same in two halves, for steps of which a program computes most: it is
 * asked, and its answer is taken when it is there, or waited for.  In between
 * the compute and its batch belong to that.  Is there such a program?
 */
bool compute_asks(const struct compute *);
void compute_train_ask(struct compute *, uint64_t seed);
bool compute_answered(const struct compute *);
void compute_train_take(struct compute *, struct metric_state *);

/* The loss and the predictions; or the predictions alone. */
void compute_forward(struct compute *);
void compute_predict(struct compute *);

/*
 * For a model whose steps are a program's: the number of the step to come, the
 * examples that are asked for if it has data of its own, and its arguments,
 * which are JSON of an object or NULL, and borrowed.
 */
void compute_step(struct compute *, uint64_t step, uint64_t examples,
		  const char *args);

/* Of the last pass: its program's own data have ended, and it is no step. */
bool compute_ended(const struct compute *);

/* What the program gave back of the last pass, as JSON in a line, good until
   the next one; empty: nothing. */
struct text compute_result(const struct compute *);

/* Examples that the last pass counts: those of the batch, or, of a program's
   step, as many as it says. */
uint64_t compute_examples(const struct compute *);

/*
 * Sum over examples of the loss, plus examples times the penalties of the
 * regularizers (as Keras adds them to the mean); when that was not training,
 * without those of tables, so that it does not matter how examples were cut
 * into batches.  0 without labels.
 */
double compute_loss(const struct compute *);

/* What the batches of a step came to, its gradient being there: see
   accumulate. */
void compute_set_loss(struct compute *, double loss, uint64_t examples);

/* Add what the forward pass predicted to one state for each metric. */
void compute_metrics(const struct compute *, struct metric_state *);

/*
 * examples x model_outputs(): probabilities, or values for regression.  Of
 * training in one block: those of the last examples.  Of a program's steps:
 * only those of compute_predict().
 */
const float *compute_prediction(const struct compute *);

/*
 * What an external layer or a step's program failed with in the last training
 * or forward pass, which then came to nothing; or NULL.  See struct externals.
 */
const struct fail *compute_failure(const struct compute *);

/* Bound the gradients as the variables' optimizers say (see clip). */
void compute_clip(struct compute *);

#define COMPUTE_ADVICE	"; a smaller learning_rate or a clipnorm may help"

/*
 * Is every gradient finite?  If not, -1 and the variable's name in the
 * failure (FAIL_DATA); the same for the loss, and that of compute_failure().
 */
int compute_check(struct compute *, struct fail *);

/*
 * Is the gradient of a variable, which compute_check() found to be finite and
 * which may have been clipped since, larger than this somewhere?
 */
bool compute_beyond(const struct compute *, size_t variable, float most);

/* Are the values of a variable, as they came, finite, or of no use?  And a
   variable whose values are not; or NULL. */
bool compute_finite(const struct compute *, size_t variable);
const char *compute_infinite(const struct compute *);

#endif
