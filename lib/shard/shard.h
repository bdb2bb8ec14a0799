/*
 * shard - the variables' values and slots that one server holds.
 *
 * It knows nothing of peers, nor which steps are to be applied: it pulls, it
 * pushes, it makes snapshots.
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

/* Bytes of values and slots that are there from the first; hashed tables
   have none yet. */
double shard_bytes(const struct plan *, const struct model *, size_t server);

/*
 * With initial values.  Plan and model are borrowed and must outlive it.
 * Many take long: NULL if stopped() said so before they were made; one that
 * is NULL never does.
 */
struct shard *shard_new(const struct plan *, const struct model *,
			size_t server, bool (*stopped)(void));
void shard_free(struct shard *);

/* How often a part has been pushed to. */
uint64_t shard_version(const struct shard *, size_t part);

/*
 * A pull of a part: for the rows that the keys name, FAIL_PROTOCOL if those are
 * bad, the values of all pieces in order, live or of a snapshot (NULL: live),
 * as they travel.  The frame is good until the next call, or for as long as its
 * hold is held.
 */
int shard_pull(struct shard *, size_t part, const struct frame *keys,
	       const struct shard_snapshot *, struct encoding,
	       struct frame *values, struct fail *);

/*
 * The same in two steps, for a caller that has something to do in between
 * which must not be done if the keys are bad: they are read into rows, which
 * a pull of live values empties.  The rows are the caller's; one object does
 * for all parts, and is freed before its shard.
 */
struct shard_rows *shard_rows_new(const struct shard *);
void shard_rows_free(struct shard_rows *);
int shard_rows_read(struct shard_rows *, size_t part,
		    const struct frame *keys, struct fail *);
void shard_rows_pull(struct shard *, struct shard_rows *,
		     const struct shard_snapshot *, struct encoding,
		     struct frame *values);
/* The numbers of millions of rows are not kept; a pull does this, too. */
void shard_rows_forget(struct shard_rows *);

/*
 * Apply the gradient of a step: keys and sums over so many examples, laid out
 * as a pull of the same keys.  The learning rate is what schedule_asked() makes
 * of the one here, after step updates.  All of it, or on
 * failure none: FAIL_PROTOCOL for a misfit, FAIL_DATA for numbers that are not
 * finite.  One of no examples has no keys or values, and changes nothing.
 */
struct shard_push {
	const struct frame *keys, *values;
	uint64_t examples;
	float learning_rate;
	uint64_t step;
	struct encoding encoding;	/* of the values */
	uint64_t replica;	/* of a round */
};
int shard_push(struct shard *, size_t part, const struct shard_push *,
	       struct fail *);

/* Would this push do?  The failures are shard_push()'s. */
int shard_check_push(struct shard *, size_t part, const struct shard_push *,
		     struct fail *);

/*
 * Apply the gradients of the replicas of a round as one update: added up in a
 * fixed tree over their numbers (see gradient_tree.h), and divided by the
 * examples of all.  So the sum does not depend on who came first, nor on how
 * variables are spread over servers.  They come in the order of their numbers,
 * and each must have passed shard_check_push(); rate and step are those of the
 * first.  FAIL_DATA if the sum is not finite; nothing is applied then.
 */
int shard_push_replicas(struct shard *, size_t part,
			const struct shard_push *, size_t pushes,
			struct fail *);

/*
 * What shard_push_replicas() would make of a part, beside what is there, which
 * stays as it is.  1; 0: the part has a table, or the round changes nothing;
 * -1: as above.
 */
struct shard_ahead;
int shard_run_ahead(struct shard *, size_t part, const struct shard_push *,
		    size_t pushes, struct shard_ahead **, struct fail *);
void shard_ahead_free(struct shard_ahead *);	/* NULL, too */

/*
 * What is published of a part (see shard_published.c), if that is what is
 * pulled of it: the edition, and values that are all of it (since is 0), or
 * what has changed since the edition that the puller has.
 */
struct shard_news {
	uint64_t edition, since;
	struct frame values;
};
bool shard_pull_published(struct shard *, size_t part, struct encoding,
			  uint64_t have, struct shard_news *);

/*
 * What is published is what is there: now; when steps from this one on are
 * pulled for, whose turn it is or is not yet.
 */
void shard_publish_anew(struct shard *);
void shard_publish_at(struct shard *, uint64_t now, uint64_t step);
/* It was the turn of one step, and is that of another now. */
void shard_stand_at(struct shard *, uint64_t before, uint64_t step);
/* Nobody has any of it: a new term. */
void shard_forget_published(struct shard *);

/* A pull of it, as shard_pull() of the part; edition 0: nothing of it is
   published. */
void shard_ahead_pull(struct shard_ahead *, struct encoding, uint64_t have,
		      struct shard_news *);

/*
 * Make it what is there, as shard_push_replicas() would have.  false: nothing
 * has changed, for a snapshot wants the gradients themselves.
 */
bool shard_ahead_adopt(struct shard_ahead *);

/*
 * Everything as it is now, by reference: what is written from then on is
 * copied first.
 */
struct shard_snapshot *shard_snapshot_new(struct shard *);

/*
 * What all steps below this one make, of which none at or above it has been
 * pushed yet.  The first push of such a step has the snapshot take hold of what
 * is there; pushes below it that come later are applied to both.
 */
struct shard_snapshot *shard_snapshot_below(struct shard *, uint64_t step);
void shard_snapshot_free(struct shard_snapshot *);	/* before its shard */

/*
 * What a checkpoint writes of a snapshot, to which nothing is pushed any more;
 * for any thread, and good until shard_snapshot_free().
 */
const struct checkpoint_array *shard_snapshot_arrays(struct shard_snapshot *,
						     size_t *count);

/*
 * Take values, slots and update counts from a checkpoint, whose model may have
 * had other optimizers: what they leave begins anew, and is counted anew.
 * Its files are read by the reader alone.
 */
int shard_restore(struct shard *, struct checkpoint *,
		  const struct checkpoint_reader *, struct fail *);

/*
 * For a standby: a shard_snapshot_new() is so many chunks, each of a piece of
 * the plan and a place in it, all of its values and slots in one; of a hashed
 * table they are blocks of rows (see row_serialize.h), the even ones of its
 * own, the odd ones of those that wait.  To be asked for in order.  The data is
 * good until the next one and shard_snapshot_free(), or for as long as the hold
 * is held.
 */
struct shard_chunk {
	uint64_t piece, chunk;
	uint64_t updates, since, begun;	/* of the whole piece, as in struct
					   checkpoint_counts */
	struct frame data;
};
size_t shard_snapshot_chunks(const struct shard_snapshot *);
struct shard_chunk shard_snapshot_chunk(struct shard_snapshot *, size_t i);
/* In order, too.  FAIL_PROTOCOL: no such chunk, or it is of another size. */
int shard_take_chunk(struct shard *, const struct shard_chunk *,
		     struct fail *);

/* How often a part has been pushed to elsewhere. */
void shard_set_version(struct shard *, size_t part, uint64_t version);

#endif
