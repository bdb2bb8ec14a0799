/*
 * queue - which step is next, who runs it, and what has ended.
 *
 * The semantics of TensorFlow's ClusterCoordinator, then stricter.  Requests
 * are taken in the order they came.  A train request is so many steps; any
 * worker may run any of them.  All others are barriers: they come to the
 * front when all that was asked before has ended, and what was asked behind
 * them waits for queue_pass().
 *
 * A step's number is given out when it is leased, in order, without gaps, and
 * never again.  A step that comes back (its worker died) is leased again,
 * before new ones, lowest number first.
 */
#ifndef PS_QUEUE_H
#define PS_QUEUE_H

#include "role/request.h"
#include "role/window.h"

struct queue;

struct queue *queue_new(uint64_t first_step);
void queue_free(struct queue *);

/* Takes what the request holds and empties it. */
void queue_put(struct queue *, struct request *);
size_t queue_requests(const struct queue *);	/* that have not ended */

/*
 * Lease up to most steps to a worker, of one request, numbers in sequence,
 * none at or over limit.  Returns how many; 0: nothing to do now.
 */
struct lease_terms {
	uint64_t first, count, attempt;	/* attempt: 1 for the first */
	uint64_t batch;			/* 0: the usual */
	float learning_rate;
};
size_t queue_lease(struct queue *, void *worker, size_t most, uint64_t limit,
		   struct lease_terms *);

/* A step as it stands. */
struct step {
	enum step_state { STEP_NONE, STEP_LEASED, STEP_RETURNED, STEP_ENDED,
			  STEP_SET_ASIDE } state;
	uint64_t attempts;
	void *worker;
	struct order *order;
	uint64_t deaths;		/* of workers under it */
	const void *first_dead;		/* the worker that died first */
	bool killer;			/* others did, too */
};

/* NULL if it has ended or never began. */
const struct step *queue_step(const struct queue *, uint64_t number);

/* The id (as JSON, or NULL) of the request that a step belongs to. */
const char *queue_id(const struct queue *, uint64_t number);

/* It is done, or given up. */
void queue_end(struct queue *, uint64_t number);

/* All that a worker had comes back; how many steps.  NULL: all workers. */
size_t queue_return(struct queue *, const void *worker);

/*
 * The worker died while it ran this step, which is leased alone from now on.
 * true: it has died under too many, and is set aside: it is leased no more
 * and waits for queue_end().
 */
bool queue_blame(struct queue *, uint64_t number, const void *worker);

/*
 * Give up every train request in front of the first barrier.  For each one
 * that had steps left, tell is called with how many had not ended (it may be
 * NULL).  Its steps are ended; which ones were under way: queue_mark() before
 * and queue_next() after.
 */
size_t queue_cancel(struct queue *,
		    void (*tell)(void *to, const char *id, uint64_t steps),
		    void *to);

/* The barrier at the front, or NULL; and go on behind it. */
const struct request *queue_barrier(const struct queue *);
void queue_pass(struct queue *);

uint64_t queue_mark(const struct queue *);	/* all steps below ended */
uint64_t queue_next(const struct queue *);	/* the next new number */
size_t queue_running(const struct queue *);	/* leased now */
bool queue_idle(const struct queue *);		/* nothing asked is left */

/* Steps asked for and not ended, up to the first barrier. */
uint64_t queue_waiting(const struct queue *);

#endif
