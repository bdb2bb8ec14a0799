/*
 * evaluator - pulls the values of a run's live model, to score or to predict.
 *
 * It asks the coordinator for the model and for a cut: the variables as they
 * are after one step, which the servers hold while training continues.  The
 * values of all batches are pulled from the cut.  Like every role it has no
 * socket, clock or file; its program brings messages and the time.
 */
#ifndef PS_EVALUATOR_H
#define PS_EVALUATOR_H

#include "model/compute.h"
#include "wire/message.h"
#include "wire/outbox.h"

struct evaluator;

struct evaluator_options {
	const char *coordinator;	/* its endpoint */
	uint64_t timeout_ms;
	uint64_t life;			/* random, new for every start */
	uint64_t index;			/* of the task; WIRE_NONE: any */
	const struct externals *externals;	/* borrowed; NULL: the model
						   needs none */
};

/* Dials the coordinator.  Options are copied, the endpoint borrowed.  NULL: it
   cannot be dialled, and the failure says why. */
struct evaluator *evaluator_new(const struct evaluator_options *,
				struct outbox *, uint64_t now_ms,
				struct fail *);
void evaluator_free(struct evaluator *);	/* gives the cut back */

void evaluator_up(struct evaluator *, uint64_t peer, uint64_t now_ms);
void evaluator_down(struct evaluator *, uint64_t peer, uint64_t now_ms);

/* -1: the evaluation cannot continue, and the failure says why. */
int evaluator_receive(struct evaluator *, uint64_t peer, const struct message *,
		      uint64_t now_ms, struct fail *);

/* Checks deadlines: call it several times in a timeout.  -1: the evaluation
   cannot continue, and the failure says why. */
int evaluator_tick(struct evaluator *, uint64_t now_ms, struct fail *);

/* The model; NULL until the coordinator has sent it. */
const struct model *evaluator_model(const struct evaluator *);

/* True if the cut is there; it holds the steps below *step. */
bool evaluator_has_cut(const struct evaluator *, uint64_t *step);

/*
 * Pulls the values that the compute needs.  The compute is borrowed until
 * evaluator_is_idle(); then the next one can be pulled for.  -1: it needs more
 * rows of a part than a frame holds, and the failure says of which variable.
 */
int evaluator_pull(struct evaluator *, struct compute *, uint64_t now_ms,
		   struct fail *);
bool evaluator_is_idle(const struct evaluator *);

#endif
