/*
 * pipeline - a worker's steps: each is pulled for, computed, pushed.
 *
 * The push of one step and the pull of the next, or of the one behind that,
 * are one exchange, which is under way while a step is computed that was
 * pulled for before.  A step is prefetched if it has no lease yet: more steps
 * like those before it were announced, so it pulls what it will need.
 *
 * A replica of a round cannot be pulled for before the round below has ended;
 * but its pull can be under way beside that one's push, as servers send values
 * ahead of the round's end.
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
	const struct fail *unfit;	/* the error of each step here, if it
					   has a kind */
	uint64_t prefetch;		/* see struct worker_options */
	bool overlap;			/* see struct worker_options */
	bool assigned;			/* a batch is for one lease alone, */
	bool leased_data;		/* and read from the coordinator's */
};

struct pipeline *pipeline_new(const struct pipeline_options *);
void pipeline_free(struct pipeline *);

/* A term begins: the leases are gone. */
void pipeline_begin_term(struct pipeline *);
/* What has been pulled is good for no lease to come. */
void pipeline_expire(struct pipeline *);

/* Examples that are to be read for the next step; 0: none. */
uint64_t pipeline_want(const struct pipeline *);
size_t pipeline_line(const struct pipeline *);	/* of that step */
/* The data sets (a bit for each) that steps of a lease take; NULL: of the next
   one. */
uint64_t pipeline_datasets(const struct pipeline *, const struct lease *);
/* Here they are; their room is swapped with that of an old batch. */
void pipeline_put(struct pipeline *, struct batch *);
/* true: these are to be read again; see worker_put_back(). */
bool pipeline_put_back(struct pipeline *, struct batch *);

/* An exchange that has come to its end is taken note of: the client is free for
   another, until the next call. */
void pipeline_take_answers(struct pipeline *, uint64_t now_us);
/* Go on as far as there are leases, batches and answers. */
void pipeline_advance(struct pipeline *, uint64_t now_ms, uint64_t now_us);

/* All values of the next step are there: it can be computed. */
bool pipeline_can_compute(const struct pipeline *);
/* A program is at a step; and at the one that it was asked for first no more:
   that comes before all others that can be computed. */
bool pipeline_asks(const struct pipeline *);
bool pipeline_is_answered(const struct pipeline *);
/* -1: neither this step nor another ever can. */
int pipeline_compute(struct pipeline *, struct fail *);

/* Nothing is under way but what waits for a round. */
bool pipeline_is_over(const struct pipeline *);
size_t pipeline_prefetched(const struct pipeline *);

/* Pushed so far. */
void pipeline_count(const struct pipeline *, uint64_t *steps,
		    uint64_t *examples);

/* NULL, or what does not hold; see worker_check(). */
const char *pipeline_check(const struct pipeline *);

#endif
