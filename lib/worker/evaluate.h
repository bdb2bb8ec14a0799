/*
 * evaluate - a worker's part of an evaluation.
 *
 * Between steps the worker scores batches of the files that the coordinator
 * names, with values that it pulls for each batch: the values of now, or of a
 * cut that the coordinator names.
 */
#ifndef PS_EVALUATE_H
#define PS_EVALUATE_H

#include "client/client.h"
#include "model/batch.h"
#include "model/external.h"
#include "wire/outbox.h"
#include "worker/worker.h"

struct evaluate;

struct evaluate_options {		/* all borrowed */
	const struct model *model;
	const struct plan *plan;
	struct client *client;
	const struct externals *externals;
	const struct fail *failure;	/* if it has a kind, each evaluation
					   fails with it */
	struct outbox *outbox;
	uint64_t peer;			/* the coordinator */
};

struct evaluate *evaluate_new(const struct evaluate_options *);
void evaluate_free(struct evaluate *);

/* Takes an EVALUATE; an earlier evaluation is dropped.  -1: the message is
   malformed (FAIL_PROTOCOL). */
int evaluate_take(struct evaluate *, const struct message *, struct fail *);
void evaluate_drop(struct evaluate *);

/* The files to read; NULL: there is no evaluation. */
const struct worker_evaluation *evaluate_job(const struct evaluate *);
/* True if the next batch may be given. */
bool evaluate_wants(const struct evaluate *);
/* Gives the next batch, by a swap with an old one; NULL: there are no more, and
   the result is sent. */
void evaluate_batch(struct evaluate *, struct batch *, uint64_t now_ms);
/* Takes the values that have been pulled for the batch, or begins to pull them
   if the client is idle.  Call it before a step gets the client. */
void evaluate_pull(struct evaluate *, uint64_t now_ms);
/* Ends the evaluation and reports why. */
void evaluate_failed(struct evaluate *, const struct fail *why);

bool evaluate_can_compute(const struct evaluate *);
/* Is a batch being computed that waits for a program?  Until it is done, the
   program has no time for steps, even if the evaluation was dropped. */
bool evaluate_is_computing(const struct evaluate *);
/* Scores the batch, as far as programs have answered.  -1: nothing can be
   computed here any more, and the failure says why; an error of the data ends
   only the evaluation (0). */
int evaluate_compute(struct evaluate *, struct fail *);

#endif
