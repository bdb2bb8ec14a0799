/*
 * sampler - which records of a data set each batch has, so that an epoch has
 * every one of them once.
 *
 * The inputs are cut into splits, whose records are counted first.  From then
 * on what a batch has is a function of its place, a number: place / batches is
 * its epoch, place % batches its batch there.  Nothing else is to be remembered
 * of it; to run a step again is to read the same again.
 *
 *	the splits, in an order by (seed, epoch), laid end to end
 *	are cut into as many streams as there were workers,
 *	a stream into blocks of the buffer's size,
 *	a block, in an order of its own, into batches.
 *
 * Consecutive batches go round the streams, a unit of batches (of steps that
 * are leased together) from each: so the streams advance side by side, and a
 * worker that keeps to its own reads a file from the front.  Every batch is
 * full but the very last of an epoch.
 *
 * In sync a step is a round, which takes a batch for each of its replicas, and
 * there are as many streams.  Which batches a step has of several data sets
 * samplers.h decides.
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

/* All is counted. */
bool sampler_ready(const struct sampler *);

/* A split that nobody counts yet, which somebody now does; or NONE. */
#define SAMPLER_NONE	SIZE_MAX
size_t sampler_count_next(struct sampler *);
void sampler_count_again(struct sampler *, size_t split);

/* What is to be counted, with borrowed names. */
struct record_range sampler_range(const struct sampler *, size_t split);
size_t sampler_file(const struct sampler *, size_t split);

/*
 * It has been counted: places are copied.  A file without a record is
 * FAIL_NOINPUT, what nobody can have counted FAIL_PROTOCOL.  whole: the file
 * is one split from now on, the first of it, to be counted yet.
 */
int sampler_counted(struct sampler *, size_t split, uint64_t records,
		    const uint64_t *place, size_t places, struct fail *);
void sampler_whole(struct sampler *, size_t split);

/* ---- what a batch has ---- */

uint64_t sampler_records(const struct sampler *);
uint64_t sampler_batch(const struct sampler *);		/* records of one */
/* a list */
void sampler_write_files(const struct sampler *, struct pack *);
uint64_t sampler_batches(const struct sampler *);	/* of an epoch */
uint64_t sampler_epoch(const struct sampler *, uint64_t place);
uint64_t sampler_stream(const struct sampler *, uint64_t place);
uint64_t sampler_streams(const struct sampler *, uint64_t place);

/* Batches from this one on that are one behind the other in its block. */
uint64_t sampler_run(const struct sampler *, uint64_t place);

struct slice {
	uint64_t epoch;
	uint64_t stream;
	uint64_t first, size;	/* the block: records of the epoch's order */
	uint64_t from, count;	/* of the block, in its own order */
};
void sampler_slice(const struct sampler *, uint64_t place, struct slice *);

/* Where the records of the block lie.  Free with block_release(). */
void sampler_block(struct sampler *, const struct slice *, struct block *);

/* The block that follows in its stream; false: none does. */
bool sampler_block_after(struct sampler *, const struct slice *,
			 struct block *);

/* ---- places ---- */

/*
 * Those to be taken next, returned ones first, from a cursor on that begins as
 * { 0 }: the first of them, and how many in a row are of its epoch.
 */
struct sampler_cursor {
	size_t range;		/* of those returned, which come first; and */
	uint64_t passed;	/* so many of it, or behind all of them */
};
uint64_t sampler_row(const struct sampler *, const struct sampler_cursor *,
		     uint64_t *count);
/* Pass so many, no more than the row has. */
void sampler_pass(const struct sampler *, struct sampler_cursor *,
		  uint64_t count);

/*
 * Take so many of the first row: the first of them.  An epoch that begins with
 * it has so many streams; 0: as many as the last.
 */
uint64_t sampler_take(struct sampler *, uint64_t count, uint64_t streams);

/* Their step will not be: another one is to read this. */
void sampler_return(struct sampler *, uint64_t place, uint64_t count);

/* The epoch that the next place is in, and records of it that are to be
   taken. */
uint64_t sampler_now(const struct sampler *);
uint64_t sampler_left(const struct sampler *);

/* A step from there on has read so many; how many have been read of the newest
   epoch. */
void sampler_add_read(struct sampler *, uint64_t place, uint64_t records);
uint64_t sampler_records_read(const struct sampler *, uint64_t epoch);

/* The same for some of the steps only: those that a cut is of. */
struct sampler_reads {
	uint64_t epoch, records;	/* of the newest */
};
struct sampler_reads sampler_reads(const struct sampler *);
void sampler_reads_add(const struct sampler *, struct sampler_reads *,
		       uint64_t place, uint64_t records);

/*
 * What was counted, and how far it is, each as bytes.  Reading them back is
 * FAIL_CONFIG if they are of other inputs or options.
 */
void sampler_write_counts(const struct sampler *, struct pack *);
int sampler_read_counts(struct sampler *, const void *, size_t, struct fail *);
/* all: of each epoch, not only of those that have records left. */
void sampler_write_position(const struct sampler *, struct pack *, bool all);
/* A position as it was written, but with these visits. */
void sampler_copy_position(const struct pack *from,
			   const struct sampler_reads *, struct pack *);

/* Epochs that have begun, and the streams of the newest. */
uint64_t sampler_begun(const struct sampler *);
void sampler_write_begun(const struct sampler *, struct pack *);
bool sampler_read_begun(struct sampler *, struct unpack *);

/* of_steps: its places count steps, as in checkpoints of old. */
int sampler_read_position(struct sampler *, const void *, size_t,
			  bool of_steps, struct fail *);

#endif
