/*
 * worker - run the steps that the coordinator leases.
 *
 * It pulls, computes, pushes; the push of one step and the pull of the next,
 * or of the one behind that, are one exchange, which is under way while a step
 * is computed that was pulled for before.  It holds no socket, clock or file:
 * its program brings messages, the time and batches of examples:
 *
 *	worker_want()		how many examples the next batch should have
 *	worker_batch()		here it is
 *	worker_put_back()	it is not wanted any more
 *	worker_exhausted()	there are no more
 *	worker_bad_data()	they cannot be read
 *
 * Whatever it is told, it takes notice and sends what can be sent, and does not
 * compute: that takes its time, so the program does it when all that has
 * arrived has been told:
 *
 *	worker_can_compute()	is there something?
 *	worker_compute()	a step, or a batch of an evaluation
 *	worker_computed()	what came of it may be sent
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
	uint64_t lease_ms;		/* then who says nothing hangs */
	uint64_t life;			/* random, new for every start */
	uint64_t index;			/* of the task; WIRE_NONE: any */
	const char *site;		/* whose relay it may use; borrowed;
					   NULL: none */
	bool assigned;			/* a batch is for one step and replica
					   alone; see worker_next() */
	uint64_t prefetch;		/* pull for so many steps, 0 or 1,
					   before the one that is computed */
	bool overlap;			/* pull for a replica of a round while
					   that of the one below is pushed */
	const struct externals *externals;	/* borrowed; NULL: the model
						   needs none */
	struct crew *crew;		/* to compute with, borrowed; NULL:
					   nobody else */
};

/* Dials the coordinator.  Options are copied, the endpoint borrowed. */
struct worker *worker_new(const struct worker_options *, struct outbox *,
			  uint64_t now_ms, struct fail *);
/* Says BYE; but one that nothing can be computed by any more dies. */
void worker_free(struct worker *);

void worker_up(struct worker *, uint64_t peer, uint64_t now_ms);
void worker_down(struct worker *, uint64_t peer, uint64_t now_ms);

/* -1: it cannot go on, and the failure says why. */
int worker_receive(struct worker *, uint64_t peer, const struct message *,
		   uint64_t now_ms, uint64_t now_us, struct fail *);

/* Deadlines: call it now and then. */
int worker_tick(struct worker *, uint64_t now_ms, struct fail *);

/*
 * All values are there that the next step needs, or the batch of an
 * evaluation.  What can be sent has been: it is on its way meanwhile.
 */
bool worker_can_compute(const struct worker *);
bool worker_compute(struct worker *);	/* false: there was nothing */
void worker_computed(struct worker *, uint64_t now_ms, uint64_t now_us);

/* Say that it lives, from the middle of a long step. */
void worker_breathe(struct worker *);

/* The coordinator says that the run is over. */
bool worker_stopped(const struct worker *);

/* It is in a run, whose coordinator is there. */
bool worker_has_run(const struct worker *);

/* The model, once the coordinator has told it; else NULL. */
const struct model *worker_model(const struct worker *);
uint64_t worker_seed(const struct worker *);	/* of the run */

/* How to read what the coordinator leases; NULL: we have inputs of our own.
   Of which data sets that is (a bit for each). */
const struct record_range_format *worker_format(const struct worker *);
uint64_t worker_leased(const struct worker *);

/* Examples wanted for the next step that has no batch yet; 0: none. */
size_t worker_want(const struct worker *);
/* ... of each of these data sets (a bit for each); and that of its first
   input. */
uint64_t worker_datasets(const struct worker *);
size_t worker_dataset(const struct worker *);

/*
 * Whose batch it is that is wanted; NULL: none is.  Good until the next call
 * of the worker.
 */
struct worker_next {
	/* replicas: 0: none */
	uint64_t step, replica, replicas, attempt, batch;
};
const struct worker_next *worker_next(struct worker *);

/*
 * The batch is taken: its contents are swapped with an old one, whose room
 * can be used again.
 */
void worker_batch(struct worker *, struct batch *, uint64_t now_ms,
		  uint64_t now_us);
void worker_exhausted(struct worker *, uint64_t records);

/*
 * A batch that was taken but is not wanted as it is (the next step has
 * another size): its examples come first in those to be given next.
 */
bool worker_put_back(struct worker *, struct batch *);

/*
 * With data of the coordinator's: the next step wants count records, or as many
 * as there are, of a data set's block (see data/block) from its record number
 * from on, in the block's order.  Of each data set each batch that the replica
 * accumulates has a slice: the k-th slice, false if there is none.  Local steps
 * share one.  Frames are good until the next message.
 */
bool worker_slice(const struct worker *, size_t k, struct lease_slice *);
size_t worker_batches(const struct worker *);	/* of a step */
/* The blocks of a data set that are needed, in that order, as far as they are
   known. */
size_t worker_blocks(const struct worker *, size_t dataset, struct frame *,
		     size_t most);
/* The block of the next step cannot be read. */
void worker_bad_block(struct worker *, const struct fail *why);

/* A span to be counted, or NULL; number: another one, another number; and of
   which data set. */
const struct frame *worker_index(const struct worker *, uint64_t *number);
size_t worker_index_dataset(const struct worker *);
void worker_indexed(struct worker *, const struct record_range_tally *);
void worker_index_failed(struct worker *, const struct fail *why);
void worker_bad_data(struct worker *, const struct fail *why);
/* No step can be computed here, because of that. */
void worker_unfit(struct worker *, const struct fail *why);

/*
 * An evaluation to do: read those files and give every batch of this shard
 * of their records, then NULL.
 */
struct worker_evaluation {
	char **file;		/* count of them; borrowed; 0: the worker's
				   own inputs, from their beginning */
	size_t count;
	uint64_t shard, shards, batch;
	uint64_t number;	/* another one: begin again */
};
const struct worker_evaluation *worker_evaluation(const struct worker *);
bool worker_evaluation_wants(const struct worker *);	/* the next batch */
void worker_evaluation_batch(struct worker *, struct batch *,
			     uint64_t now_ms);
void worker_evaluation_failed(struct worker *, const struct fail *why);

/* For people; good until the next call. */
const char *worker_state(struct worker *);

/*
 * For tests, when it has taken an event: NULL, or the words of what does not
 * hold, though it always should.
 */
const char *worker_check(const struct worker *);

#endif
