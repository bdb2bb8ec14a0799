/*
 * shard_private - what the files of a shard share; for no other file.
 *
 *	shard.c			what a shard holds; pulls and pushes of parts
 *	shard_rows.c		pulls and pushes of a piece
 *	shard_ahead.c		what a round would make of a part
 *	shard_published.c	the published copy of a part
 *	shard_snapshot.c	snapshots, checkpoints, and chunks for a standby
 */
#ifndef PS_SHARD_PRIVATE_H
#define PS_SHARD_PRIVATE_H

#include "base/send_buffer.h"
#include "shard/shard.h"
#include "tensor/apply.h"
#include "tensor/hashed.h"
#include "wire/gradient_tree.h"

/* The values and slots of a piece: now, or in a snapshot. */
struct piece_state {
	struct chunk **chunk;
	struct table *table;	/* of a hashed table, which has no chunks */
	uint64_t updates;
};

/* A piece that this server has. */
struct shard_piece {
	const struct piece *piece;
	const struct variable *variable;
	size_t slots;
	bool published;		/* its published copy lies behind the slots */
	size_t shift;		/* a chunk of a table has 1 << shift rows */
	size_t chunks;
	struct hashed hashed;
	uint64_t since, begun;	/* as in struct checkpoint_counts; but where
				   shard_counts_updates(), begun is an update */
	struct piece_state now;
};

/*
 * A schedule counts the updates of its variable.  Where every step is one it
 * counts the steps: these have numbers of their own, in whatever order they
 * come.
 */
static inline bool
shard_counts_updates(const struct shard_piece *h)
{
	const struct optimizer *o = h->variable->optimizer;

	return h->variable->partly || (o && o->frozen);
}

/* The rows of the pieces of a part that keys name. */
struct shard_rows {
	const struct shard *shard;
	struct row_list *list;	/* of each piece of the part */
	size_t part, floats;	/* floats: of all rows together */
};

/* The encoded difference between two neighbouring editions of the published
   copy of a part, of all its pieces. */
struct difference {
	struct send_buffer *buffer;	/* NULL: there is none */
	size_t size;			/* bytes */
};

/* The published copy of a part whose differences are pulled. */
#define PUBLISHED_KEPT	8
struct published {
	uint64_t edition;	/* one higher after each change of the copy */
	size_t count;		/* kept differences; the last leads to
				   `edition' */
	struct difference kept[PUBLISHED_KEPT];		/* that to edition e is
							   at e %
							   PUBLISHED_KEPT */
};

#define SENT	16		/* frames on their way */
#define SHARD_CUTS	8

struct shard {
	const struct plan *plan;
	const struct model *model;
	size_t server;
	bool (*stopped)(void);		/* NULL: never */
	struct shard_piece *holding;	/* one for each piece of the plan;
					   chunks is 0 for those of others */
	uint64_t *version;		/* of each part */
	struct gradient_tree *tree;	/* of rounds */
	float *wide;			/* floats to encode, or decoded */
	size_t wide_room;
	struct send_buffer *values;	/* to send */
	struct send_buffer *sent[SENT];	/* small encoded frames, reused in
					   turn */
	size_t next_sent;
	size_t pieces;			/* of a part, at most */
	struct shard_rows *pushed, *pulled;
	struct shard_snapshot *snapshots;
	struct published *published;	/* of each part */
	struct send_buffer *difference, *differences;	/* difference: of a
							   piece, in floats;
							   differences: several,
							   encoded, to send */
	uint64_t cut[SHARD_CUTS];	/* steps to come, at which the copies
					   begin anew */
	size_t cuts;
};

struct shard_snapshot {
	struct shard *shard;
	struct shard_snapshot *next;	/* of the same shard */
	uint64_t step;			/* it contains the steps below this
					   one */
	struct piece_state *content;	/* of each piece; NULL: not frozen, it
					   is as the shard is now */
	size_t chunks;			/* of all pieces */
	struct checkpoint_array *array;	/* NULL: shard_snapshot_arrays() was not
					   called yet */
	struct checkpoint_piece *piece;
	size_t arrays, pieces;
	size_t hashed;			/* arrays of hashed tables, the first
					   ones; we free their names */
	struct table_walk walk;		/* place in the hashed table that is
					   being sent, */
	struct chunk *block;		/* and its last block */
};

static inline bool
shard_stopped(const struct shard *s)
{
	return s->stopped && s->stopped();
}

/* The state of a piece: now (NULL), or in a snapshot. */
static inline struct piece_state *
piece_state_of(const struct shard *s, const struct shard_snapshot *snapshot,
	       size_t piece)
{
	return snapshot && snapshot->content ? &snapshot->content[piece] :
		&s->holding[piece].now;
}

/* ---- shard.c ---- */

/*
 * Apply a gradient, sums over `of' examples of the rows in s->pushed, in
 * floats, to the shard's values (NULL) or to a snapshot.
 */
void shard_apply(struct shard *, struct shard_snapshot *, size_t part,
		 const void *gradient, const struct shard_push *, uint64_t of);

/*
 * Add up what shard_push_replicas() applies.  1: the gradient of the rows in
 * s->pushed, good until the next call; 0: the round has no examples; -1
 * (FAIL_DATA): the sum is not finite.
 */
struct gradient_sum {
	float *gradient;
	uint64_t examples;
};
int shard_sum_replicas(struct shard *, size_t part, const struct shard_push *,
		       size_t pushes, struct gradient_sum *, struct fail *);

/* ---- shard_published.c ---- */

struct published *published_new(const struct plan *);
void published_free(struct published *, size_t parts);
void published_begin(struct shard_piece *);
/* A round has made new values of a part: advance the published copy to them,
   for those who pull for this step, and keep the difference. */
void shard_publish(struct shard *, size_t part, uint64_t step);
/*
 * published_continues(): does the copy of the part continue at this step?
 * false: it begins anew.  published_advance(): advance it, and write the
 * encoded difference to *difference; false: the copy must begin anew, and has
 * not changed.  published_keep(): take the difference as that to a new edition;
 * *difference is then empty.
 */
bool published_continues(const struct shard *, size_t part, uint64_t step);
bool published_advance(struct shard *, size_t part, uint64_t step,
		       struct difference *);
void published_keep(struct published *, struct difference *);
/* Pull the copy of a part; see shard_pull_published().  last: one more
   difference behind those that are kept, or an empty one.  begun: the copy
   begins anew. */
void published_pull(struct shard *, size_t part, uint64_t have,
		    struct difference last, bool begun, struct shard_news *);

/* ---- shard_rows.c ---- */

/* Copy the values of some rows of a piece, one behind the other. */
void piece_state_pull(const struct piece_state *, const struct shard_piece *,
		      const struct row_list *, float *to);

/* Apply a gradient for some rows, laid out the same, at any address. */
void piece_state_push(struct piece_state *, const struct shard_piece *,
		      const struct apply *, const struct row_list *,
		      const void *gradient);

/* ---- shard_snapshot.c ---- */

/* piece_state_share(): what a piece holds now; chunks and table are shared, and
   copied when they are next written.  piece_state_release(): let go of it. */
struct piece_state piece_state_share(const struct shard_piece *);
void piece_state_release(struct piece_state *, const struct shard_piece *);

/* Freeze a snapshot: it shares what the shard holds now.  Nothing happens if it
   is frozen already. */
void shard_snapshot_freeze(struct shard_snapshot *);

#endif
