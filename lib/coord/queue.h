/*
 * queue - which step is next, who runs it, and what has ended.
 *
 * The semantics of TensorFlow's ClusterCoordinator, then stricter.  Requests
 * are taken in the order they came.  A train request is so many steps; any
 * worker may run any of them.  All others are barriers: they come to the
 * front when all that was asked before has ended, and what was asked behind
 * them waits for queue_pass(); but for those in the background, which begin
 * when the steps in front of them have numbers.
 *
 * A step's number is given out when it is leased, in order, without gaps, and
 * never again.  A step that comes back (its worker died) is leased again,
 * before new ones, lowest number first.
 *
 * With samplers the numbers up to some distance are given out by streams, so
 * that a worker keeps to its own.
 */
#ifndef PS_QUEUE_H
#define PS_QUEUE_H

#include "base/window.h"
#include "coord/request.h"
#include "coord/samplers.h"

#define QUEUE_DEATHS	5	/* of workers: what they were at is given up */

struct queue;

struct queue *queue_new(uint64_t first_step);
void queue_free(struct queue *);

/*
 * Bounded staleness: a step is leased when all steps more than so many below it
 * have ended, as number queue_watermark() + ahead is when all below the low
 * watermark have.
 */
void queue_bound(struct queue *, uint64_t ahead);
/* Every step has places in the samplers, which are borrowed. */
void queue_follow(struct queue *, struct samplers *);

/* Who has the step at the low watermark, if that alone keeps steps from being
   leased; else NULL. */
void *queue_held_up(const struct queue *);

/* Takes what the request holds and empties it. */
void queue_put(struct queue *, struct request *);
/*
 * Some steps of a train request, or another request once: what it holds is
 * borrowed until that has ended, which queue_ended() then says: 0 steps of one
 * that is none of steps, or how many, and how many of them were not done; of
 * another request that was given up 1.
 */
void queue_put_part(struct queue *, const struct request *, uint64_t steps);
struct part_ended {
	size_t owner;
	uint64_t number, steps, undone;
};
bool queue_ended(struct queue *, struct part_ended *);
size_t queue_requests(const struct queue *);	/* that have not ended */
size_t queue_bytes(const struct queue *);	/* of their arguments */
/* Steps without a number, and of all others one, however far behind. */
uint64_t queue_unnumbered(const struct queue *);

/*
 * Lease up to most steps to a worker, of one request, numbers in sequence,
 * none at or over limit.  Returns how many; 0: nothing to do now.
 */
struct lease_terms {
	uint64_t first, count, attempt;	/* attempt: 1 for the first */
	uint64_t batch;			/* 0: the usual */
	float learning_rate;
	uint64_t pass;			/* barriers and cancellations so far */
	struct call *call;		/* the queue's, till they have ended */
	bool more;			/* steps like these come behind them,
					   with no barrier between */
	struct places places;		/* of the first, in the samplers */
};
size_t queue_lease(struct queue *, void *worker, size_t most, uint64_t limit,
		   struct lease_terms *);

/*
 * The same with samplers, steps whose records are in sequence: of a stream, if
 * there are any, else of the one that is furthest behind.
 */
struct lease_choice {
	uint64_t stream;	/* WIRE_NONE: any */
	uint64_t streams;	/* of an epoch that begins */
	uint64_t ahead;		/* of the low watermark, at most, numbers are
				   looked at */
};
size_t queue_lease_stream(struct queue *, void *worker, size_t most,
			  uint64_t limit, const struct lease_choice *,
			  struct lease_terms *);

/*
 * A step as it stands; one that waits has a number, but was never leased.
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
	uint64_t attempts;
	void *worker;
	struct order *order;
	uint64_t stream;		/* in the samplers */
	uint64_t deaths;		/* of workers under it */
	const void *first_dead;		/* the worker that died first */
	bool killer;			/* others did, too */
};

/* What a step that has not ended was asked to be, alone. */
void queue_asked(const struct queue *, uint64_t number, struct lease_terms *);

/* NULL if it has ended or never began. */
const struct step *queue_step(const struct queue *, uint64_t number);

/* What it reads, with samplers; else none. */
struct places queue_places(const struct queue *, uint64_t number);

/* The request that a step which has not ended belongs to, and its id (as JSON,
   or NULL). */
const struct request *queue_request(const struct queue *, uint64_t number);
const char *queue_id(const struct queue *, uint64_t number);

/* It is done, or given up. */
void queue_end(struct queue *, uint64_t number);

/* All that a worker had comes back; how many steps.  NULL: all workers. */
size_t queue_return(struct queue *, const void *worker);

/* Nobody has begun the steps that are leased for the first time: they wait, as
   if they had not been. */
void queue_unlease(struct queue *);

/*
 * What somebody may have pushed, so that it is to be done before the rest is
 * given up: the steps that came back, and with this call those that are leased
 * once more, and all, leased or not, that lie below a step that was pushed in
 * an earlier term.  How many can be leased?
 */
void queue_return_again(struct queue *, uint64_t high);
size_t queue_returned(const struct queue *);

/* It is leased no more and waits for queue_end(). */
void queue_quarantine(struct queue *, uint64_t number);

/*
 * The worker died while it ran this step, which is leased alone from now on.
 * true: it has died under too many, and is quarantined: it is leased no more
 * and waits for queue_end().
 */
bool queue_blame(struct queue *, uint64_t number, const void *worker);

/* Does a step that has not ended speak of a worker who is gone? */
bool queue_references(const struct queue *, const void *worker);

/*
 * Give up every train request in front of the first barrier.  For each one that
 * had steps left, tell is called with how many had not ended (it may be NULL).
 * Its steps are ended; which ones were under way: queue_watermark() before and
 * queue_next() after.  An epoch that has begun is given up, too.
 */
size_t queue_cancel(struct queue *,
		    void (*tell)(void *to, const struct request *,
				 uint64_t steps),
		    void *to);

/*
 * The same of one owner's, wherever they are.  What others have under way
 * ends, too: those steps get other numbers.
 */
void queue_cancel_of(struct queue *, size_t owner);

/*
 * For a queue that is built again from a journal: give the next number to
 * the step whose turn it is, as one that came back (false: there is none);
 * say that it was never leased; end so many requests at the front, and all
 * steps that have a number.
 */
bool queue_replay_next(struct queue *, struct lease_terms *);
void queue_replay_unleased(struct queue *, uint64_t number);
void queue_replay_end(struct queue *, size_t requests);

/*
 * What is left to do when all steps that have a number have ended: requests,
 * a line each.  false: no lines say that.
 */
bool queue_write(const struct queue *, struct text *);

/*
 * The same of parts: each with so many steps, or 0 of a request that is not of
 * steps.  false: no parts say that.
 */
bool queue_write_parts(const struct queue *,
		       void (*tell)(void *to, const struct request *,
				    uint64_t steps), void *to);

/* The barrier at the front, or NULL; and go on behind it.  An epoch and a
   checkpoint pass by what is in the background and has begun. */
const struct request *queue_barrier(const struct queue *);
void queue_pass(struct queue *);

/*
 * The barrier is an epoch, which now has steps to be leased: it stays at the
 * front.  Has it begun, and how many steps have not ended?
 */
void queue_begin(struct queue *, uint64_t steps);
bool queue_begun(const struct queue *, uint64_t *left);

/*
 * Requests in the background (struct request): the i-th of them, or NULL; and
 * the one whose turn it is, as all steps in front of it have numbers.  None
 * behind it gets one before it has begun, or when it has not any more, unless
 * they are passed by: in a journal, and until the queue has come as far as the
 * coordinator before us had.  It ends whenever it does.
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

/* Steps asked for and not ended, up to the first barrier, or what is in the
   background and has not begun; or UINT64_MAX, if there are more. */
uint64_t queue_waiting(const struct queue *);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *queue_check(const struct queue *);

#endif
