/*
 * worker_inside - what the parts of a worker share: worker.c (the coordinator,
 * the plan, what happens), worker_lease.c (what is to be done, and was),
 * worker_data.c (what is read), worker_step.c (what is pulled, computed,
 * pushed) and worker_evaluation.c.  For nobody else.
 */
#ifndef PS_WORKER_INSIDE_H
#define PS_WORKER_INSIDE_H

#include "base/text.h"
#include "client/client.h"
#include "client/evaluation.h"
#include "data/block.h"
#include "model/compute.h"
#include "wire/result.h"
#include "worker/worker.h"

#define MAX_LEASES	256
#define WORKS		3	/* one pulled for, one computed, one pushed */

/* Steps to run, first to end - 1; those below next have been begun. */
struct lease {
	uint64_t id, first, end, next, attempt, batch, pass, server;
	float learning_rate;
	struct pack results;
	size_t count;			/* results that are in */
	struct metric_state scores;	/* theirs */
	bool cancelled;
	uint64_t slot, slots;	/* of a round; slots 0: of none */
	struct text block, after;	/* frames of the coordinator's data */
	uint64_t from;			/* its first step's, in the block */
};

/*
 * What has become of a step, or is becoming of it.
 *
 *	NONE --begin_work()--> BEGUN --exchange()--> PULLING
 *	PULLING --take_answers()--> PULLED --step_compute()--> COMPUTED
 *	COMPUTED --exchange()--> PUSHING --worker_note_result()--> NONE
 *	PULLING --make_way()--> BEGUN	(it waits for a round that waits for us)
 *	PULLED --adopt()--> BEGUN	(a barrier lies behind what was pulled)
 *	BEGUN --next_exchange()--> PULLED	(it cannot be pulled for)
 *	BEGUN, PULLED, COMPUTED --put_down()--> NONE
 */
enum stage { STAGE_NONE, STAGE_BEGUN, STAGE_PULLING, STAGE_PULLED,
	     STAGE_COMPUTED, STAGE_PUSHING };

/*
 * One step in the making.  An early one has no lease yet: more steps like
 * those before it were announced, so it pulls what it will need meanwhile.
 */
struct work {
	struct compute *compute;
	struct batch batch;
	enum stage stage;
	struct lease *lease;
	uint64_t turn;		/* the lowest was begun first; none: 0 */
	uint64_t size;		/* examples that were asked for */
	uint64_t pass;		/* for leases of this pass its pull is good */
	uint64_t *version;	/* of each part, as it was pulled */
	uint64_t step, began_us;
	struct metric_state state[RESULT_METRICS];
	struct result result;
	struct fail why;	/* it cannot be computed, if it has a kind */
};

struct worker {
	struct outbox *outbox;
	struct worker_options options;
	uint64_t coordinator;	/* peer */
	bool up, welcome, stopped, ready_said;
	uint64_t heard, down_since, lost_said, ticked;
	struct fail lost;		/* why we said LOST */

	struct model_source source;
	struct model *model;
	struct plan plan;
	struct client *client;
	const struct metric *metric;
	size_t metrics;

	struct lease lease[MAX_LEASES];	/* a ring */
	size_t lease_first, leases;
	struct batch waiting;		/* for the next step */
	uint64_t waiting_size;		/* that was asked for */
	bool has_batch, unwanted;	/* unwanted: of another size */
	bool over;			/* nothing more can be read, */
	struct fail bad;		/* because of this, if it has a kind */
	bool exhausted, exhausted_said;
	bool cancelled;		/* OK is to be said when none such is made */
	bool more;			/* said by the last lease, like: */
	uint64_t more_size, more_pass;
	uint64_t records;		/* read, when exhausted */
	struct work work[WORKS];	/* one at most pulls, is computed and
					   not pushed, is pushed */
	uint64_t turns;
	bool computed;		/* since the last tick */
	struct fail unfit;	/* no step or evaluation can be computed here,
				   as each of them says, if it has a kind */
	struct fail broken;	/* nothing more can be, and we die of that */
	uint64_t waiting_for;	/* the lease that has_batch is for */
	struct pack out;

	struct worker_evaluation evaluation;
	struct message evaluation_request;
	struct evaluation score;
	struct batch eval_batch;
	bool evaluating;
	struct span_format format;	/* of the coordinator's data, */
	struct worker_next wanted;
	bool leased_data;		/* if there are any */
	struct message index_request;
	struct text index;		/* the span's frame */
	bool indexing;
	uint64_t evaluations, steps, examples;
	char text[128];
};

/*
 * Steps that are pulled for, or have been, and wait for their leases: how
 * many, and which one was begun first and last.
 */
struct early {
	size_t count;
	struct work *first, *last;
};

/* ---- worker.c ---- */

/* To the coordinator. */
void worker_say(struct worker *, const struct message *);

/* ---- worker_lease.c ---- */

struct lease *worker_lease_at(const struct worker *, size_t i);
/*
 * The first lease with a step that has not been begun, or NULL.  Of slots the
 * one of the lowest step: the rounds behind it wait for it.
 */
struct lease *worker_next_lease(const struct worker *);
int worker_take_lease(struct worker *, const struct message *, struct fail *);
/* A frame that is to outlive its message; empty if there is none. */
void worker_keep_frame(struct text *to, const struct message *, size_t i);

/*
 * Give up what has not been computed of leases with one of these steps, or of
 * that one lease (id not 0).  What is done is reported.
 */
void worker_cancel(struct worker *, uint64_t first, uint64_t count,
		   uint64_t id);
/* Is it the end of all that was begun of what was cancelled?  Say so. */
void worker_say_cancelled(struct worker *);
void worker_say_failed(struct worker *, struct lease *, uint64_t step,
		       const struct fail *why);
/* A step that has been computed goes into its lease's results. */
void worker_note_result(struct worker *, struct work *, uint64_t now_us);
/* It is over, if nothing of it is in the making: a slot is given back. */
void worker_end_lease(struct worker *, struct lease *);
/* Leases that are over leave the ring from its front. */
void worker_drop_leases(struct worker *);

/* ---- worker_data.c ---- */

/* What was read for an early step is for one of another size. */
bool worker_misread(const struct worker *);
/* What was read last goes back first, but not while values come for it. */
void worker_unload(struct worker *);
/* The coordinator's data were read for a lease that is no more. */
void worker_forget_records(struct worker *);
/* Have the data ended?  Then so do the leases. */
void worker_end_data(struct worker *);
void worker_say_exhausted(struct worker *);
void worker_take_index(struct worker *, const struct message *);

/* ---- worker_step.c ---- */

/* Go on as far as there are leases, batches and answers. */
void worker_advance(struct worker *, uint64_t now_ms, uint64_t now_us);
/* Compute what has been pulled for; there is something, if it can. */
bool step_can_compute(const struct worker *);
void step_compute(struct worker *);
struct early worker_early(const struct worker *);
void work_drop(struct work *);

/* ---- worker_evaluation.c ---- */

/* Score what has been pulled for, if it is all there. */
bool worker_can_score(const struct worker *);
void worker_score(struct worker *);

int worker_take_evaluate(struct worker *, const struct message *,
			 struct fail *);
void worker_end_evaluation(struct worker *);

#endif
