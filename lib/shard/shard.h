/*
 * shard - the values and optimizer slots of the variables that one server
 * holds.
 *
 * A shard pulls, pushes and makes snapshots.  It does not know any peer, nor
 * which steps are to be applied.
 */
#ifndef PS_SHARD_H
#define PS_SHARD_H

#include "shard/chunk.h"
#include "store/checkpoint.h"
#include "wire/plan.h"

#include <stdbool.h>

struct checkpoint_reader;	/* store/rows.h */
struct shard;
struct shard_rows;
struct shard_snapshot;

/* Returns the bytes that shard_new() allocates for values, slots and published
   copies; hashed tables have none yet. */
double shard_bytes(const struct plan *, const struct model *, size_t server);

/*
 * Returns a shard with the initial values of the server's parts.  The plan and
 * the model are borrowed and must outlive it.  To initialise many values takes
 * long: NULL if stopped() returned true meanwhile.  stopped may be NULL: never.
 */
struct shard *shard_new(const struct plan *, const struct model *,
			size_t server, bool (*stopped)(void));
void shard_free(struct shard *);

/* The version of a part: how many updates were applied to it. */
uint64_t shard_version(const struct shard *, size_t part);

/*
 * Pull a part: for the rows that the keys name, the values of all its pieces in
 * order, encoded as they travel; live (snapshot is NULL) or as in the snapshot.
 * *values is good until the next call, or while its hold is referenced.
 * FAIL_PROTOCOL: the keys are malformed.
 */
int shard_pull(struct shard *, size_t part, const struct frame *keys,
	       const struct shard_snapshot *, struct encoding,
	       struct frame *values, struct fail *);

/*
 * The same in two steps, for a caller that must check the keys first and then
 * do something else before it pulls.  shard_rows_read() reads the keys into
 * rows (FAIL_PROTOCOL if they are malformed); shard_rows_pull() pulls the
 * values of those rows.  The rows are the caller's; one object does for all
 * parts, and must be freed before its shard.
 */
struct shard_rows *shard_rows_new(const struct shard *);
void shard_rows_free(struct shard_rows *);
int shard_rows_read(struct shard_rows *, size_t part,
		    const struct frame *keys, struct fail *);
void shard_rows_pull(struct shard *, struct shard_rows *,
		     const struct shard_snapshot *, struct encoding,
		     struct frame *values);
/* Free the memory of the rows' numbers if it is large (more than 2^20 rows of a
   piece).  shard_rows_pull() does this, too. */
void shard_rows_forget(struct shard_rows *);

/*
 * Apply the gradient of a step.  keys: the rows; values: sums over the
 * examples, encoded, laid out as a pull of the same keys.  The learning rate of
 * each variable is what schedule_asked() makes of learning_rate after `step'
 * steps.  All of the gradient is applied, or none of it: FAIL_PROTOCOL if keys
 * and values do not fit the part, FAIL_DATA if a number is not finite.  A push
 * of 0 examples has neither keys nor values, and changes nothing.
 */
struct shard_push {
	const struct frame *keys, *values;
	uint64_t examples;
	float learning_rate;
	uint64_t step;
	struct encoding encoding;	/* of the values */
	uint64_t replica;	/* its number, in a round */
};
int shard_push(struct shard *, size_t part, const struct shard_push *,
	       struct fail *);

/* Would shard_push() take this push?  0; -1 with its failures. */
int shard_check_push(struct shard *, size_t part, const struct shard_push *,
		     struct fail *);

/*
 * Apply the gradients of the replicas of a round as one update: their sum, in a
 * fixed tree over the replicas' numbers (see wire/gradient_tree.h), divided by
 * the examples of all.  So the result does not depend on the order in which
 * they came, nor on the number of servers.  The pushes are in the order of
 * their numbers, and each must have passed shard_check_push(); the learning
 * rate and the step are those of the first.  FAIL_DATA if the sum is not
 * finite: then nothing is applied.
 */
int shard_push_replicas(struct shard *, size_t part,
			const struct shard_push *, size_t pushes,
			struct fail *);

/*
 * Compute what shard_push_replicas() would make of a part, beside the values of
 * the shard, which do not change.  1: *ahead is the caller's, and must be freed
 * before the shard; 0: the part has a table, or the round has no examples; -1:
 * FAIL_DATA as above.
 */
struct shard_ahead;
int shard_run_ahead(struct shard *, size_t part, const struct shard_push *,
		    size_t pushes, struct shard_ahead **, struct fail *);
void shard_ahead_free(struct shard_ahead *);	/* NULL, too */

/*
 * A pull of the published copy of a part (see shard_published.c).  false: what
 * such a pull asks for is not published: use shard_pull().  have: the edition
 * that the puller has, 0 if none.  since 0: the values are the whole copy; else
 * they are the differences from edition `since' (which is `have') to this one.
 * The values are good until the next call, or while their hold is referenced.
 */
struct shard_news {
	uint64_t edition, since;
	struct frame values;
};
bool shard_pull_published(struct shard *, size_t part, struct encoding,
			  uint64_t have, struct shard_news *);

/*
 * shard_publish_anew() publishes the values of all parts themselves, as a new
 * edition.  shard_publish_at() does so when the round of this step opens: at
 * once if it is the open round (`now'), and never if it has ended.
 */
void shard_publish_anew(struct shard *);
void shard_publish_at(struct shard *, uint64_t now, uint64_t step);
/* The open round changes from that of step `before' to that of `step'. */
void shard_set_round(struct shard *, uint64_t before, uint64_t step);
/* A new term has begun: keep no differences, so that a puller without the
   newest edition is sent the whole copy. */
void shard_forget_published(struct shard *);

/* Pull the computed part, as shard_pull_published() or else shard_pull() does;
   then the edition is 0. */
void shard_ahead_pull(struct shard_ahead *, struct encoding, uint64_t have,
		      struct shard_news *);

/*
 * Make the computed values those of the shard, as shard_push_replicas() would.
 * false: nothing has changed, because a snapshot needs the gradients
 * themselves.
 */
bool shard_ahead_adopt(struct shard_ahead *);

/*
 * Returns a snapshot of all values as they are now.  It refers to the chunks of
 * the shard, which are copied when they are next written.
 */
struct shard_snapshot *shard_snapshot_new(struct shard *);

/*
 * Returns a snapshot of what all steps below this one make.  No step at or
 * above it has been pushed yet.  The first push of such a step freezes the
 * snapshot; later pushes of steps below it are applied to both the shard and
 * the snapshot.
 */
struct shard_snapshot *shard_snapshot_below(struct shard *, uint64_t step);
void shard_snapshot_free(struct shard_snapshot *);	/* before its shard */

/*
 * Returns the arrays that a checkpoint writes of a snapshot, and freezes it: no
 * push is applied to it any more.  Any thread may read them until
 * shard_snapshot_free().
 */
const struct checkpoint_array *shard_snapshot_arrays(struct shard_snapshot *,
						     size_t *count);

/*
 * Load values, slots and update counts from a checkpoint, whose files only the
 * reader reads.  If its model has another optimizer for a variable, that
 * variable's slots and counts begin anew.  -1: the reader's failure.
 */
int shard_restore(struct shard *, struct checkpoint *,
		  const struct checkpoint_reader *, struct fail *);

/*
 * For a standby: the chunks of a shard_snapshot_new(), to be asked for in
 * order, from 0 on.  Each has a piece of the plan, a place in it, and the
 * values and slots there in one frame.  The chunks of a hashed table are blocks
 * of rows (see tensor/row_serialize.h): even places are those of the table
 * itself, odd ones those of rows that wait to be admitted.  The data is good
 * until the next call for a chunk and shard_snapshot_free(), or while its hold
 * is referenced.
 */
struct shard_chunk {
	uint64_t piece, chunk;
	uint64_t updates, since, begun;	/* of the whole piece, as in struct
					   checkpoint_counts */
	struct frame data;
};
size_t shard_snapshot_chunks(const struct shard_snapshot *);
struct shard_chunk shard_snapshot_chunk(struct shard_snapshot *, size_t i);
/* Take a chunk of another server's snapshot, in order.  FAIL_PROTOCOL: there is
   no such chunk here, or it has another size. */
int shard_take_chunk(struct shard *, const struct shard_chunk *,
		     struct fail *);

/* Set the version of a part to that of the server that is followed. */
void shard_set_version(struct shard *, size_t part, uint64_t version);

#endif
