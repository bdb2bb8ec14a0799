/*
 * queue - which step is next, who runs it, and what has ended.
 *
 * The semantics are those of TensorFlow's ClusterCoordinator, and stricter.
 * Requests are taken in the order in which they came.
 *
 *  - A train request is a number of steps; any worker may run any of them.
 *  - Any other request is a barrier: it begins when all requests in front of
 *    it have ended, and requests behind it wait for queue_pass().
 *  - A request in the background (an evaluation) begins when all steps in
 *    front of it have numbers, and nothing waits for it once it has begun.
 *
 * A step gets its number when it is leased: in order, without gaps, and only
 * once.  A step that comes back (its worker died) is leased again before new
 * ones, lowest number first.
 *
 * With samplers some steps get their numbers before they are leased, and a
 * worker is leased those of its own stream.
 */
#ifndef PS_QUEUE_H
#define PS_QUEUE_H

#include "base/window.h"
#include "coord/request.h"
#include "coord/samplers.h"

#define QUEUE_DEATHS	5	/* deaths of workers under one step, or another
				   piece of work: then it is given up */

struct queue;

struct queue *queue_new(uint64_t first_step);
void queue_free(struct queue *);

/*
 * Sets the bound of staleness: step n is leased only when all steps below
 * n - ahead have ended.  Without a call the window (WINDOW - 1) is the bound,
 * and a larger one is cut to it.
 */
void queue_bound(struct queue *, uint64_t ahead);
/* Sets the samplers, borrowed: each step then has places in them. */
void queue_follow(struct queue *, struct samplers *);

/* Returns the worker that has the step at the low watermark, if that step alone
   keeps others from being leased (by the bound of staleness); else NULL. */
void *queue_held_up(const struct queue *);

/* Puts a request at the end; takes what the request holds and empties it. */
void queue_put(struct queue *, struct request *);
/*
 * Puts a part of a request at the end: this many steps of a train request, one
 * epoch of an epoch request, or another request whole (steps is ignored).  What
 * the request holds is borrowed until queue_ended() has returned the part.
 */
void queue_put_part(struct queue *, const struct request *, uint64_t steps);
/* A part that has ended. */
struct part_ended {
	size_t owner;		/* of the request */
	/* number: the request's; steps: of a train request, else 0; undone:
	   steps that were not done, 1 of a request without steps that was given
	   up */
	uint64_t number, steps, undone;
};
/* Takes one part that has ended, in no order; false: there is none. */
bool queue_ended(struct queue *, struct part_ended *);
size_t queue_requests(const struct queue *);	/* that have not ended */
size_t queue_bytes(const struct queue *);	/* of their arguments */
/* Counts all steps that have no number yet, and each other request that has not
   begun as one. */
uint64_t queue_unnumbered(const struct queue *);

/*
 * Leases up to most steps to a worker: steps of one request, whose numbers are
 * in sequence and below limit.  Returns how many; 0: nothing can be leased now.
 */
struct lease_terms {
	uint64_t first, count, attempt;	/* attempt: 1 for the first */
	uint64_t batch;			/* examples; 0: the usual number */
	float learning_rate;		/* as in struct request */
	uint64_t pass;			/* barriers and cancellations so far */
	struct call *call;		/* the queue's, until the steps have
					   ended */
	bool more;			/* steps with the same terms follow,
					   with no barrier between */
	struct places places;		/* of the first step */
};
size_t queue_lease(struct queue *, void *worker, size_t most, uint64_t limit,
		   struct lease_terms *);

/*
 * The same with samplers: leases steps whose records are in sequence.  Steps of
 * the chosen stream come first; if none waits, the lowest step that waits.
 */
struct lease_choice {
	uint64_t stream;	/* the worker's; WIRE_NONE: any */
	uint64_t streams;	/* number of streams of an epoch that begins */
	uint64_t ahead;		/* only this many numbers from the first open
				   step on are looked at */
};
size_t queue_lease_stream(struct queue *, void *worker, size_t most,
			  uint64_t limit, const struct lease_choice *,
			  struct lease_terms *);

/*
 * A step and its state; WAITING: it has a number, but was never leased.
 *
 *	NONE --number_steps()--> WAITING --take()--> LEASED
 *	NONE --queue_lease()--> LEASED
 *	LEASED --queue_return()--> RETURNED --take()--> LEASED
 *	LEASED, RETURNED --queue_blame()--> QUARANTINED
 *	LEASED --queue_unlease()--> WAITING
 *	NONE --queue_replay_next()--> RETURNED
 *	RETURNED --queue_replay_unleased()--> WAITING
 *	LEASED, RETURNED, QUARANTINED --queue_end()--> ENDED
 *	all --end_all()--> ENDED
 */
struct step {
	enum step_state { STEP_NONE, STEP_WAITING, STEP_LEASED, STEP_RETURNED,
			  STEP_ENDED, STEP_QUARANTINED } state;
	uint64_t attempts;		/* leases so far */
	void *worker;			/* the last one it was leased to */
	struct order *order;		/* the request it is of */
	uint64_t stream;		/* in the samplers */
	uint64_t deaths;		/* of workers under it */
	const void *first_dead;		/* the worker that died first */
	bool killer;			/* two different workers have died */
};

/* Fills in the lease terms of this one step, which has not ended. */
void queue_asked(const struct queue *, uint64_t number, struct lease_terms *);

/* Returns a step; NULL: it has ended, or has no number yet. */
const struct step *queue_step(const struct queue *, uint64_t number);

/* Returns a step's places in the samplers; without samplers, none. */
struct places queue_places(const struct queue *, uint64_t number);

/* Returns the request of a step, and the id of that request (as JSON; NULL: it
   has none); NULL if the step has ended. */
const struct request *queue_request(const struct queue *, uint64_t number);
const char *queue_id(const struct queue *, uint64_t number);

/* Ends a step: it is done, or given up. */
void queue_end(struct queue *, uint64_t number);

/* Takes back all steps that a worker (NULL: any worker) has, to be leased
   again.  Returns how many. */
size_t queue_return(struct queue *, const void *worker);

/* Takes back the steps that are leased for the first time, when no worker has
   begun them: they wait as if they had never been leased. */
void queue_unlease(struct queue *);

/*
 * Before the other steps are given up, those must be finished of which a server
 * may have a part: steps that came back, steps that are leased for the second
 * time or a later one, and all steps below high, the first one that no server
 * was pushed before this term.  queue_return_again() takes them all back;
 * queue_returned() counts the steps that wait to be leased again.
 */
void queue_return_again(struct queue *, uint64_t high);
size_t queue_returned(const struct queue *);

/* Quarantines a step: it is not leased any more and waits for queue_end(). */
void queue_quarantine(struct queue *, uint64_t number);

/*
 * Notes that a worker died while it ran this step.  From now on the step is
 * leased alone, so that a death tells which step it was.  true: there were
 * QUEUE_DEATHS deaths under it, of at least two workers, and it has been
 * quarantined.
 */
bool queue_blame(struct queue *, uint64_t number, const void *worker);

/* Does a step that has not ended still point at this worker? */
bool queue_references(const struct queue *, const void *worker);

/*
 * Gives up every train request in front of the first barrier, and an epoch that
 * has begun.  For each, tell (or NULL) is called with the number of its steps
 * that had not ended.  All steps with a number are ended: those that had not
 * lie between queue_watermark() before the call and queue_next() after it.
 * Returns the number of requests.
 */
size_t queue_cancel(struct queue *,
		    void (*tell)(void *to, const struct request *,
				 uint64_t steps),
		    void *to);

/*
 * Gives up all train requests and begun epochs of one owner, wherever they are
 * in the queue.  Steps of others that are under way are ended too: they will
 * be done under new numbers.
 */
void queue_cancel_of(struct queue *, size_t owner);

/*
 * For a queue that is built again from a journal.  queue_replay_next() gives
 * the next number to the step whose turn it is, as one that came back (false:
 * there is no such step); queue_replay_unleased() notes that such a step was
 * never leased; queue_replay_end() ends this many requests at the front, and
 * all steps that have a number.
 */
bool queue_replay_next(struct queue *, struct lease_terms *);
void queue_replay_unleased(struct queue *, uint64_t number);
void queue_replay_end(struct queue *, size_t requests);

/*
 * Appends what is left to do when all steps that have a number have ended:
 * requests, a line each.  false: that cannot be written as requests (a bad
 * request waits, or an epoch whose last steps are under way).
 */
bool queue_write(const struct queue *, struct text *);

/*
 * The same of parts: tell is called for each, with the steps left of a train
 * request, or 0 of any other request.  false: that cannot be written as parts
 * (an epoch's last steps are under way).
 */
bool queue_write_parts(const struct queue *,
		       void (*tell)(void *to, const struct request *,
				    uint64_t steps), void *to);

/*
 * queue_barrier() returns the barrier whose turn has come, or NULL;
 * queue_pass() ends it, so that the requests behind it can begin.  An epoch and
 * a checkpoint do not wait for requests in the background that have begun.
 */
const struct request *queue_barrier(const struct queue *);
void queue_pass(struct queue *);

/*
 * queue_begin() begins the epoch that is the barrier: it stays at the front,
 * and this many steps of it can be leased.  queue_begun(): has the barrier
 * begun?  *left: how many of its steps have not ended.
 */
void queue_begin(struct queue *, uint64_t steps);
bool queue_begun(const struct queue *, uint64_t *left);

/*
 * Requests in the background.  queue_background() returns the i-th of them, or
 * NULL; queue_background_due() the one that can begin, as all steps in front of
 * it have numbers, or NULL.  queue_background_begin() sets whether it has
 * begun; queue_background_end() ends it, at any time.
 *
 * No step behind such a request gets a number before the request has begun
 * (and none when it has not begun any more).  queue_pass_background(true) lifts
 * that: while a journal is read, and until the queue has come as far as that of
 * the coordinator before.
 */
void queue_pass_background(struct queue *, bool passes);
const struct request *queue_background(const struct queue *, size_t i);
const struct request *queue_background_due(const struct queue *);
void queue_background_begin(struct queue *, size_t i, bool begun);
void queue_background_end(struct queue *, size_t i, bool given_up);

uint64_t queue_watermark(const struct queue *);	/* all steps below ended */
uint64_t queue_next(const struct queue *);	/* the next new number */
size_t queue_running(const struct queue *);	/* leased now */
bool queue_idle(const struct queue *);		/* nothing asked is left */

/* Counts the steps that have not ended, up to the first barrier that has not
   begun or the first request in the background that has not; UINT64_MAX: there
   are that many or more. */
uint64_t queue_waiting(const struct queue *);

/* Can a step behind this one, which has not ended, be leased while it runs, now
   or when servers have been asked: is no barrier next? */
bool queue_is_followed(const struct queue *, uint64_t number);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *queue_check(const struct queue *);

#endif
