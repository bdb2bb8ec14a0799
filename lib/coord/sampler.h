/*
 * sampler - which records of a data set each batch has, so that an epoch has
 * every record once.
 *
 * The inputs are cut into splits, whose records are counted first.  From then
 * on the records of a batch are a function of one number, the batch's place:
 * with b batches in an epoch, place / b is the epoch and place % b the batch of
 * it.  So nothing else is to be remembered of a batch, and a step that is run
 * again reads the same records.
 *
 *	1. The splits, in an order drawn from (seed, epoch), are laid end to
 *	   end and cut into as many streams as there were workers.
 *	2. A stream is cut into blocks of the buffer's size.
 *	3. A block, its records in an order drawn for it, is cut into batches.
 *
 * Consecutive batches go round the streams and take a unit of batches from each
 * (those of steps that are leased together).  So the streams advance side by
 * side, and a worker that keeps to its own stream reads a file from the front.
 * Every batch is full but the last one of an epoch.
 *
 * In sync a step is a round, which takes a batch for each of its replicas, and
 * there are as many streams as replicas.  samplers.h decides which batches a
 * step takes of several data sets.
 */
#ifndef PS_SAMPLER_H
#define PS_SAMPLER_H

#include "data/block.h"
#include "data/split.h"

struct sampler;

struct sampler_options {
	uint64_t seed, batch;
	uint64_t replicas;	/* of a step, a batch each; 0: 1 */
	uint64_t unit;		/* batches of steps that are leased
				   together */
	uint64_t buffer;	/* records of a block, at least */
	bool shuffle;
};

/* Takes the splits and empties them. */
struct sampler *sampler_new(const struct sampler_options *, struct splits *);
void sampler_free(struct sampler *);

/* ---- before it is ready ---- */

/* Are the records of all splits counted? */
bool sampler_ready(const struct sampler *);

/* Returns a split that nobody counts yet, and notes that somebody does;
   SAMPLER_NONE: there is none.  sampler_count_again() takes that back. */
#define SAMPLER_NONE	SIZE_MAX
size_t sampler_count_next(struct sampler *);
void sampler_count_again(struct sampler *, size_t split);

/* The bytes of a split that are to be counted, with borrowed names; and the
   index of its file. */
struct record_range sampler_range(const struct sampler *, size_t split);
size_t sampler_file(const struct sampler *, size_t split);

/*
 * sampler_counted() takes the count of a split: the number of its records, and
 * the byte offset of every RECORD_RANGE_EVERY-th one (place, copied; places is
 * 0 where a file cannot be entered in the middle).  -1: the file has no record
 * (FAIL_NOINPUT), or the numbers contradict each other (FAIL_PROTOCOL).
 *
 * sampler_whole() makes the file of this split one split, its first one, which
 * is to be counted anew.
 */
int sampler_counted(struct sampler *, size_t split, uint64_t records,
		    const uint64_t *place, size_t places, struct fail *);
void sampler_whole(struct sampler *, size_t split);

/* ---- what a batch has ---- */

uint64_t sampler_records(const struct sampler *);	/* of an epoch */
uint64_t sampler_batch(const struct sampler *);		/* records of a batch */
/* Writes the names of all files, and of their label files, as one array. */
void sampler_write_files(const struct sampler *, struct pack *);
uint64_t sampler_batches(const struct sampler *);	/* of an epoch */
/* The epoch of a place, its stream, and the number of streams of that epoch
   (in sync: stream 0 of 1). */
uint64_t sampler_epoch(const struct sampler *, uint64_t place);
uint64_t sampler_stream(const struct sampler *, uint64_t place);
uint64_t sampler_streams(const struct sampler *, uint64_t place);

/* Counts the batches from this place on that follow each other in one block. */
uint64_t sampler_run(const struct sampler *, uint64_t place);

/* The records of a batch. */
struct slice {
	uint64_t epoch;
	uint64_t stream;
	uint64_t first, size;	/* the block: records in the epoch's order */
	uint64_t from, count;	/* the batch: records in the block's order */
};
void sampler_slice(const struct sampler *, uint64_t place, struct slice *);

/* Finds where the records of a slice's block lie in the files.  Free with
   block_release(). */
void sampler_block(struct sampler *, const struct slice *, struct block *);

/* Finds the next block of the slice's stream; false: there is none. */
bool sampler_block_after(struct sampler *, const struct slice *,
			 struct block *);

/* ---- places ---- */

/*
 * A cursor over the places that are yet to be taken: those that were returned,
 * then those that were never taken.  { 0 } is its beginning.  sampler_row()
 * returns the place at the cursor; *count is how many places from there on
 * follow in a row in the same epoch.
 */
struct sampler_cursor {
	size_t range;		/* of the returned places; their number: behind
				   them */
	uint64_t passed;	/* places of that range, or of the new ones */
};
uint64_t sampler_row(const struct sampler *, const struct sampler_cursor *,
		     uint64_t *count);
/* Moves the cursor by count places, at most to the end of the row. */
void sampler_pass(const struct sampler *, struct sampler_cursor *,
		  uint64_t count);

/*
 * Takes count places of the first row and returns the first of them.  If an
 * epoch begins with it, that epoch has this many streams; 0: as many as the
 * last.
 */
uint64_t sampler_take(struct sampler *, uint64_t count, uint64_t streams);

/* Returns places whose step was given up: another step will take them. */
void sampler_return(struct sampler *, uint64_t place, uint64_t count);

/* The epoch of the next place, and the records of it that are yet to be
   taken. */
uint64_t sampler_now(const struct sampler *);
uint64_t sampler_left(const struct sampler *);

/* sampler_add_read() counts the records that a step at this place has read;
   sampler_records_read() is the sum for an epoch, 0 unless it is the newest. */
void sampler_add_read(struct sampler *, uint64_t place, uint64_t records);
uint64_t sampler_records_read(const struct sampler *, uint64_t epoch);

/* The same count kept outside, for the steps that belong to a cut. */
struct sampler_reads {
	uint64_t epoch, records;	/* the newest epoch; read of it */
};
struct sampler_reads sampler_reads(const struct sampler *);
void sampler_reads_add(const struct sampler *, struct sampler_reads *,
		       uint64_t place, uint64_t records);

/*
 * Write the counts of the splits, and the position in the data, as bytes.
 * Reading them back fails with FAIL_CONFIG if they are of other inputs or
 * options, and with FAIL_DATA if a file has other bytes.
 */
void sampler_write_counts(const struct sampler *, struct pack *);
int sampler_read_counts(struct sampler *, const void *, size_t, struct fail *);
/* all: with the streams of all epochs, not only of those that have records
   left. */
void sampler_write_position(const struct sampler *, struct pack *, bool all);
/* Copies a written position, with these reads in the place of its own. */
void sampler_copy_position(const struct pack *from,
			   const struct sampler_reads *, struct pack *);

/* The number of epochs that have begun; and that number with the streams of the
   newest, as bytes.  false: they make no sense. */
uint64_t sampler_begun(const struct sampler *);
void sampler_write_begun(const struct sampler *, struct pack *);
bool sampler_read_begun(struct sampler *, struct unpack *);

/* of_steps: the places count steps, as in checkpoints of old releases.  A
   malformed position is FAIL_DATA. */
int sampler_read_position(struct sampler *, const void *, size_t,
			  bool of_steps, struct fail *);

#endif
