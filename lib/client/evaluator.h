/*
 * evaluator - score the live model of a run.
 *
 * It asks the coordinator for the model and for a cut: the variables as they
 * are after one step, which the servers hold while training goes on.  All
 * batches are scored against that.  Like every role it has no socket, clock
 * or file; its program brings messages, the time and the batches:
 *
 *	evaluator_wants()	is the last batch done, the next one wanted?
 *	evaluator_score()	here it is
 */
#ifndef PS_EVALUATOR_H
#define PS_EVALUATOR_H

#include "client/evaluation.h"
#include "wire/outbox.h"
#include "wire/plan.h"

struct evaluator;

struct evaluator_options {
	const char *coordinator;	/* its endpoint */
	uint64_t timeout_ms;
	uint64_t life;			/* random, new for every start */
	uint64_t index;			/* of the task; WIRE_NONE: any */
	bool predict;			/* no labels are there */
	const struct externals *externals;	/* borrowed; NULL: the model
						   needs none */
};

/* Dials the coordinator.  Options are copied, the endpoint borrowed. */
struct evaluator *evaluator_new(const struct evaluator_options *,
				struct outbox *, uint64_t now_ms,
				struct fail *);
void evaluator_free(struct evaluator *);	/* gives the cut back */

void evaluator_up(struct evaluator *, uint64_t peer, uint64_t now_ms);
void evaluator_down(struct evaluator *, uint64_t peer, uint64_t now_ms);

/* -1: it cannot go on, and the failure says why. */
int evaluator_hear(struct evaluator *, uint64_t peer, const struct message *,
		   uint64_t now_ms, struct fail *);

/* Deadlines.  Call it now and then. */
int evaluator_tick(struct evaluator *, uint64_t now_ms, struct fail *);

/* The model, once the coordinator has told it; else NULL. */
const struct model *evaluator_model(const struct evaluator *);

/* The cut is there, and no batch is under way. */
bool evaluator_wants(const struct evaluator *);

/*
 * The batch is borrowed until the next one is wanted.  -1: it needs more rows
 * than can be had at once, and the failure says which; or an external layer
 * failed.
 */
int evaluator_score(struct evaluator *, struct batch *, uint64_t now_ms,
		    struct fail *);

/* What was scored so far, and at which step: the cut holds those below. */
const struct evaluation *evaluator_scored(const struct evaluator *,
					  uint64_t *step);

#endif
