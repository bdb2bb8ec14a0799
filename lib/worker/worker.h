/*
 * worker - run the steps that the coordinator leases.
 *
 * For each step a worker pulls values, computes a gradient and pushes it.  One
 * exchange with the servers pushes a step and pulls for one of the next two
 * steps; a step that has been pulled for is computed meanwhile.  A worker holds
 * no socket, clock or file.  Its program brings messages, the time and batches
 * of examples:
 *
 *	worker_want()		how many examples the next batch should have
 *	worker_batch()		gives that batch
 *	worker_put_back()	takes back a batch that no step can use
 *	worker_exhausted()	says that there are no more examples
 *	worker_bad_data()	says that the examples cannot be read
 *
 * These calls record what has happened and send what can be sent, but do not
 * compute, as a step takes long.  So the program first passes on all messages
 * that have arrived, and then computes:
 *
 *	worker_can_compute()	is there something to compute?
 *	worker_compute()	computes a step, or a batch of an evaluation
 *	worker_computed()	lets the result be sent
 */
#ifndef PS_WORKER_H
#define PS_WORKER_H

#include "data/record_range.h"
#include "model/batch.h"
#include "wire/outbox.h"
#include "wire/plan.h"
#include "worker/leases.h"

struct worker;

struct worker_options {
	const char *coordinator;	/* its endpoint */
	uint64_t timeout_ms;
	uint64_t lease_ms;		/* a peer that is silent for longer
					   hangs */
	uint64_t life;			/* random, new for every start */
	uint64_t index;			/* of the task; WIRE_NONE: any */
	const char *site;		/* whose relay it may use; borrowed;
					   NULL: none */
	bool assigned;			/* a batch is for one step and replica
					   alone; see worker_next() */
	uint64_t prefetch;		/* steps, 0 or 1, that are pulled for
					   ahead of the one that is computed */
	bool overlap;			/* pull for a replica of a round while
					   one of the round before is pushed */
	const struct externals *externals;	/* borrowed; NULL: the model
						   needs none */
	struct crew *crew;		/* threads that share the computing,
					   borrowed; NULL: none */
};

/* Dials the coordinator.  Options are copied, the endpoint borrowed.  NULL: it
   cannot be dialled, and the failure says why. */
struct worker *worker_new(const struct worker_options *, struct outbox *,
			  uint64_t now_ms, struct fail *);
/* Says BYE, unless computing has failed for good: without a BYE the
   coordinator takes the worker for dead. */
void worker_free(struct worker *);

void worker_up(struct worker *, uint64_t peer, uint64_t now_ms);
void worker_down(struct worker *, uint64_t peer, uint64_t now_ms);

/* -1: the worker cannot continue, and the failure says why. */
int worker_receive(struct worker *, uint64_t peer, const struct message *,
		   uint64_t now_ms, uint64_t now_us, struct fail *);

/* Checks deadlines: call it several times in a lease.  -1: the worker cannot
   continue, and the failure says why. */
int worker_tick(struct worker *, uint64_t now_ms, struct fail *);

/*
 * True if all values of the next step, or of the next batch of an evaluation,
 * are there.  Whatever can be sent has been sent, and travels while the program
 * computes.
 */
bool worker_can_compute(const struct worker *);
bool worker_compute(struct worker *);	/* false: there was nothing */
void worker_computed(struct worker *, uint64_t now_ms, uint64_t now_us);

/* Tells the coordinator, from the middle of a long step, that the worker is
   alive. */
void worker_heartbeat(struct worker *);

/* True when the coordinator has ended the run. */
bool worker_stopped(const struct worker *);

/* True if the worker has a run's model and a connection to its coordinator. */
bool worker_has_run(const struct worker *);

/* The model; NULL until the coordinator has sent it. */
const struct model *worker_model(const struct worker *);
uint64_t worker_seed(const struct worker *);	/* of the run */

/* The format of the data that the coordinator leases; NULL: the worker reads
   inputs of its own.  worker_leased(): the data sets that the coordinator
   leases, a bit for each. */
const struct record_range_format *worker_format(const struct worker *);
uint64_t worker_leased(const struct worker *);

/* The number of examples to read for the next step that has no batch yet; 0:
   none. */
size_t worker_want(const struct worker *);
/* The data sets that this step reads, a bit for each; and the data set of its
   first input. */
uint64_t worker_datasets(const struct worker *);
size_t worker_dataset(const struct worker *);

/*
 * The step and replica that the wanted batch is for; NULL: no batch is wanted.
 * Good until the next call of the worker.
 */
struct worker_next {
	/* replicas: 0: the step is not of a round */
	uint64_t step, replica, replicas, attempt, batch;
};
const struct worker_next *worker_next(struct worker *);

/*
 * Gives the wanted batch.  Its contents are swapped with those of an old batch,
 * whose memory can be used again.
 */
void worker_batch(struct worker *, struct batch *, uint64_t now_ms,
		  uint64_t now_us);
/* Says that the inputs have ended, after that many records. */
void worker_exhausted(struct worker *, uint64_t records);

/*
 * Swaps into the batch one that was given before and does not fit, as when the
 * next step has another size.  Its examples must be the first of those that are
 * given next.  False: there is no such batch.
 */
bool worker_put_back(struct worker *, struct batch *);

/*
 * The k-th slice of the next step, when the coordinator leases data; false:
 * there is none.  A slice is count records, or as many as there are, of a data
 * set's block (see data/block), from its record number from on, in the block's
 * order.  Each batch that the replica accumulates has one slice of each data
 * set; local steps share one.  Frames are good until the next message.
 */
bool worker_slice(const struct worker *, size_t k, struct lease_slice *);
size_t worker_batches(const struct worker *);	/* of a step */
/* The known blocks of a data set that leases need, in the order in which they
   need them: puts at most `most' frames and returns their number.  The frames
   are borrowed. */
size_t worker_blocks(const struct worker *, size_t dataset, struct frame *,
		     size_t most);
/* Fails the next step, whose block cannot be read. */
void worker_bad_block(struct worker *, const struct fail *why);

/* A span of a file whose records are to be counted; NULL: none.  A new number
   means a new span.  worker_index_dataset(): the data set of the span. */
const struct frame *worker_index(const struct worker *, uint64_t *number);
size_t worker_index_dataset(const struct worker *);
void worker_indexed(struct worker *, const struct record_range_tally *);
void worker_index_failed(struct worker *, const struct fail *why);
/* Says that the inputs cannot be read any further: the step that wants the next
   batch fails with why. */
void worker_bad_data(struct worker *, const struct fail *why);
/* Lets every step and evaluation fail here, with why. */
void worker_fail_all(struct worker *, const struct fail *why);

/*
 * An evaluation to do.  The program reads the files and gives every batch of
 * this shard of their records to worker_evaluation_batch(), and NULL at the
 * end.
 */
struct worker_evaluation {
	char **file;		/* count of them; borrowed; 0: the worker's
				   own inputs, from their beginning */
	size_t count;
	uint64_t shard, shards, batch;
	uint64_t number;	/* of the evaluation: when it changes, begin
				   again */
};
const struct worker_evaluation *worker_evaluation(const struct worker *);
bool worker_evaluation_wants(const struct worker *);	/* the next batch */
void worker_evaluation_batch(struct worker *, struct batch *,
			     uint64_t now_ms);
void worker_evaluation_failed(struct worker *, const struct fail *why);

/* A line for people; good until the next call. */
const char *worker_state(struct worker *);

/*
 * For tests, after each event: NULL, or the words of an invariant that does
 * not hold.
 */
const char *worker_check(const struct worker *);

#endif
