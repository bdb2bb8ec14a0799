/*
 * evaluate - a worker's part of an evaluation: batches of the files that the
 * coordinator names are scored with values of their own pulls, between steps.
 * The values are those of now, or of a cut that the coordinator names.
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
	const struct fail *unfit;	/* the error of each evaluation here,
					   if it has a kind */
	struct outbox *outbox;
	uint64_t peer;			/* the coordinator */
};

struct evaluate *evaluate_new(const struct evaluate_options *);
void evaluate_free(struct evaluate *);

/* EVALUATE: the evaluation before, if there is one, is dropped. */
int evaluate_take(struct evaluate *, const struct message *, struct fail *);
void evaluate_drop(struct evaluate *);

/* What is to be read for it; NULL: there is none. */
const struct worker_evaluation *evaluate_job(const struct evaluate *);
/* Its next batch may come; NULL: that was all. */
bool evaluate_wants(const struct evaluate *);
void evaluate_batch(struct evaluate *, struct batch *, uint64_t now_ms);
/* Take what has been pulled, or pull for the batch if nobody has the client: to
   be called before a step has it. */
void evaluate_pull(struct evaluate *, uint64_t now_ms);
void evaluate_failed(struct evaluate *, const struct fail *why);

bool evaluate_can_compute(const struct evaluate *);
/* -1: neither this batch nor another ever can be. */
int evaluate_compute(struct evaluate *, struct fail *);

#endif
