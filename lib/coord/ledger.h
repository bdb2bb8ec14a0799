/*
 * ledger - which records each step reads, so that an epoch reads every one
 * of them once.
 *
 * The inputs are cut into splits, whose records are counted first.  From then
 * on what a step reads is a function of its place, a number: place / steps is
 * its epoch, place % steps its step there.  Nothing else is to be remembered
 * of a step; to run one again is to read the same again.
 *
 *	the splits, in an order by (seed, epoch), laid end to end
 *	are cut into as many streams as there were workers,
 *	a stream into blocks of the buffer's size,
 *	a block, in an order of its own, into batches: one for each step.
 *
 * Consecutive steps go round the streams, a unit of steps (those that are
 * leased together) from each: so the streams advance side by side, and a
 * worker that keeps to its own reads a file from the front.  Every batch is
 * full but the very last of an epoch.
 *
 * In sync a step is a round of slots; slot s reads stream s.
 */
#ifndef PS_LEDGER_H
#define PS_LEDGER_H

#include "data/block.h"
#include "data/split.h"

struct ledger;

struct ledger_options {
	uint64_t seed, batch;
	uint64_t slots;		/* of a step; 0, 1: none but the step */
	uint64_t unit;		/* steps that are leased together */
	uint64_t buffer;	/* records of a block, at least */
	bool shuffle;
};

/* Takes the splits and empties them. */
struct ledger *ledger_new(const struct ledger_options *, struct splits *);
void ledger_free(struct ledger *);

/* ---- before it is ready ---- */

/* All is counted. */
bool ledger_ready(const struct ledger *);

/* A split that nobody counts yet, which somebody now does; or NONE. */
#define LEDGER_NONE	SIZE_MAX
size_t ledger_count_next(struct ledger *);
void ledger_count_again(struct ledger *, size_t split);

/* What is to be counted, with borrowed names. */
struct span ledger_span(const struct ledger *, size_t split);
size_t ledger_file(const struct ledger *, size_t split);

/*
 * It has been counted: places are copied.  A file without a record is
 * FAIL_NOINPUT, what nobody can have counted FAIL_PROTOCOL.  whole: the file
 * is one split from now on, the first of it, to be counted yet.
 */
int ledger_counted(struct ledger *, size_t split, uint64_t records,
		   const uint64_t *place, size_t places, struct fail *);
void ledger_whole(struct ledger *, size_t split);

/* ---- what a step reads ---- */

uint64_t ledger_records(const struct ledger *);
void ledger_write_files(const struct ledger *, struct pack *);	/* a list */
uint64_t ledger_steps(const struct ledger *);		/* of an epoch */
uint64_t ledger_epoch(const struct ledger *, uint64_t place);
uint64_t ledger_stream(const struct ledger *, uint64_t place);
uint64_t ledger_streams(const struct ledger *, uint64_t place);

/* Steps from this one on that are one behind the other in its block. */
uint64_t ledger_run(const struct ledger *, uint64_t place);

struct slice {
	uint64_t epoch;
	uint64_t stream;
	uint64_t first, size;	/* the block: records of the epoch's order */
	uint64_t from, count;	/* of the block, in its own order */
};
/* false: the slot of an epoch's last step has nothing left to read. */
bool ledger_slice(const struct ledger *, uint64_t place, uint64_t slot,
		  struct slice *);

/* Where the records of the block lie.  Free with block_release(). */
void ledger_block(struct ledger *, const struct slice *, struct block *);

/* The block that follows in its stream; false: none does. */
bool ledger_block_after(struct ledger *, const struct slice *,
			struct block *);

/* ---- places ---- */

/*
 * The next one: returned ones first.  An epoch that begins with it has so many
 * streams; 0: as many as the last.
 */
uint64_t ledger_take(struct ledger *, uint64_t streams);

/* Its step will not be: another one is to read this. */
void ledger_return(struct ledger *, uint64_t place);

/* The epoch that the next place is in, and places that it has left. */
uint64_t ledger_now(const struct ledger *);
uint64_t ledger_left(const struct ledger *);

/* A step has read so many; how many have been read of the newest epoch. */
void ledger_visit(struct ledger *, uint64_t place, uint64_t records);
uint64_t ledger_visited(const struct ledger *, uint64_t epoch);

/* The same for some of the steps only: those that a cut is of. */
struct ledger_visits {
	uint64_t epoch, records;	/* of the newest */
};
struct ledger_visits ledger_visits(const struct ledger *);
void ledger_visits_add(const struct ledger *, struct ledger_visits *,
		       uint64_t place, uint64_t records);

/*
 * What was counted, and how far it is, each as bytes.  Reading them back is
 * FAIL_CONFIG if they are of other inputs or options.
 */
void ledger_write_counts(const struct ledger *, struct pack *);
int ledger_read_counts(struct ledger *, const void *, size_t, struct fail *);
void ledger_write_position(const struct ledger *, struct pack *);
/* A position as it was written, but with these visits. */
void ledger_copy_position(const struct pack *from,
			  const struct ledger_visits *, struct pack *);

/* Epochs that have begun, and the streams of the newest. */
uint64_t ledger_begun(const struct ledger *);
void ledger_write_begun(const struct ledger *, struct pack *);
bool ledger_read_begun(struct ledger *, struct unpack *);

int ledger_read_position(struct ledger *, const void *, size_t,
			 struct fail *);

#endif
