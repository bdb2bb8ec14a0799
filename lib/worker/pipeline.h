/*
 * pipeline - a worker's steps: each is pulled for, computed, pushed.
 *
 * One exchange with the servers pushes a step and pulls for one of the next
 * two steps; a step that has been pulled for is computed meanwhile.  A step is
 * prefetched if it has no lease yet: the coordinator has announced more steps
 * like those before, so the worker pulls what such a step will need.
 *
 * The values for a replica of a round are final only when the round before has
 * ended.  But they can be pulled while a replica of that round is pushed, as
 * servers send values ahead of the round's end.
 */
#ifndef PS_PIPELINE_H
#define PS_PIPELINE_H

#include "client/client.h"
#include "model/external.h"
#include "worker/batches.h"
#include "worker/leases.h"

struct pipeline;

struct pipeline_options {		/* all borrowed */
	const struct model *model;
	const struct plan *plan;
	struct client *client;
	struct leases *leases;		/* where steps come from, */
	struct batches *batches;	/* and their examples */
	const struct externals *externals;
	struct crew *crew;		/* see compute_share(); NULL */
	const struct fail *failure;	/* if it has a kind, each step fails
					   with it */
	uint64_t prefetch;		/* see struct worker_options */
	bool overlap;			/* see struct worker_options */
	bool assigned;			/* a batch is for one lease alone, */
	bool leased_data;		/* and read from the coordinator's */
};

struct pipeline *pipeline_new(const struct pipeline_options *);
void pipeline_free(struct pipeline *);

/* Begins a term: drops all steps, as their leases are gone.  Answers that
   programs still owe are awaited and thrown away. */
void pipeline_begin_term(struct pipeline *);
/* Makes all pulled values unfit for leases to come: these pull again. */
void pipeline_expire(struct pipeline *);

/* The number of examples to read for the next step that has no batch; 0:
   none. */
uint64_t pipeline_want(const struct pipeline *);
size_t pipeline_line(const struct pipeline *);	/* of that step */
/* The data sets, a bit for each, that steps of a lease read; NULL: steps like
   those of the last lease. */
uint64_t pipeline_datasets(const struct pipeline *, const struct lease *);
/* Gives the wanted batch, by a swap with an old one. */
void pipeline_put(struct pipeline *, struct batch *);
/* Swaps out a batch that is to be read again; false: there is none.  See
   worker_put_back(). */
bool pipeline_put_back(struct pipeline *, struct batch *);

/* Notes whether the exchange under way has ended.  If it has, the client is
   free until pipeline_advance(). */
void pipeline_take_answers(struct pipeline *, uint64_t now_us);
/* Begins steps and exchanges as far as leases, batches and answers allow. */
void pipeline_advance(struct pipeline *, uint64_t now_ms, uint64_t now_us);

/* True if a step can be computed: all its values are there, or a program has
   answered. */
bool pipeline_can_compute(const struct pipeline *);
/* True if a program has been asked for a step and its answer has not been
   taken; and if the answer to the first such step is there.  That answer is
   taken before any other step is computed. */
bool pipeline_asks(const struct pipeline *);
bool pipeline_is_answered(const struct pipeline *);
/* Computes a step, or asks a program for it.  -1: nothing can be computed any
   more, and the failure says why; an error of this step alone is reported with
   the step (0). */
int pipeline_compute(struct pipeline *, struct fail *);

/* True if no step is under way, except those of rounds. */
bool pipeline_is_over(const struct pipeline *);
/* The number of steps that are prefetched. */
size_t pipeline_prefetched(const struct pipeline *);

/* The steps and examples that were pushed since the start. */
void pipeline_count(const struct pipeline *, uint64_t *steps,
		    uint64_t *examples);

/* NULL, or what does not hold; see worker_check(). */
const char *pipeline_check(const struct pipeline *);

#endif
