/*
 * shard_private - what the parts of a shard share: shard.c (what it holds,
 * pulls and pushes of parts), shard_rows.c (those of a piece), shard_ahead.c
 * (what a round would make of a part) and shard_snapshot.c (snapshots, and what
 * is read back from them).  For nobody else.
 */
#ifndef PS_SHARD_PRIVATE_H
#define PS_SHARD_PRIVATE_H

#include "base/send_buffer.h"
#include "shard/shard.h"
#include "tensor/apply.h"
#include "tensor/hashed.h"
#include "wire/gradient_tree.h"

/* What a piece holds: now, or in a snapshot. */
struct piece_state {
	struct chunk **chunk;
	struct table *table;	/* of a hashed one, which has no chunks */
	uint64_t updates;
};

/* A piece that this server has. */
struct shard_piece {
	const struct piece *piece;
	const struct variable *variable;
	size_t slots;
	bool published;		/* a copy lies behind the slots */
	size_t shift;		/* a chunk of a table has 1 << shift rows */
	size_t chunks;
	struct hashed hashed;
	uint64_t since, begun;	/* as in struct checkpoint_counts */
	struct piece_state now;
};

/* The rows of the pieces of a part. */
struct shard_rows {
	const struct shard *shard;
	struct row_list *list;	/* of each piece of it */
	size_t part, floats;	/* how many values they have */
};

/* The difference between two editions of the published copy: of all pieces of a
   part, as it travels. */
struct difference {
	struct send_buffer *buffer;	/* NULL: there is none */
	size_t size;			/* bytes */
};

/* Of a part whose differences are pulled. */
#define PUBLISHED_KEPT	8
struct published {
	uint64_t edition;	/* one more when the copy changes */
	size_t count;		/* of differences that lead there */
	struct difference kept[PUBLISHED_KEPT];		/* to an edition, by
					   its number */
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
	float *wide;			/* floats that travel as others */
	size_t wide_room;
	struct send_buffer *values;	/* to send */
	struct send_buffer *sent[SENT];	/* as they travel, in turn */
	size_t next_sent;
	size_t pieces;			/* of a part, at most */
	struct shard_rows *pushed, *pulled;
	struct shard_snapshot *snapshots;
	struct published *published;	/* of each part */
	struct send_buffer *difference, *differences;	/* of a piece, as
					   floats; several, to send */
	uint64_t cut[SHARD_CUTS];	/* steps to come, at which what is
					   published is what is there */
	size_t cuts;
};

struct shard_snapshot {
	struct shard *shard;
	struct shard_snapshot *next;	/* of the same shard */
	uint64_t step;			/* it has what is below */
	struct piece_state *content;	/* of each piece; NULL: what is there
					   now is what it has */
	size_t chunks;			/* of all */
	struct checkpoint_array *array;	/* NULL: it is not described yet */
	struct checkpoint_piece *piece;
	size_t arrays, pieces;
	size_t hashed;			/* arrays of hashed tables: first,
					   and their names are ours */
	struct table_walk walk;		/* of the table that is being sent, */
	struct chunk *block;		/* and its rows on their way */
};

static inline bool
shard_stopped(const struct shard *s)
{
	return s->stopped && s->stopped();
}

/* Of a piece: now (NULL), or in a snapshot. */
static inline struct piece_state *
piece_state_of(const struct shard *s, const struct shard_snapshot *snapshot,
	       size_t piece)
{
	return snapshot && snapshot->content ? &snapshot->content[piece] :
		&s->holding[piece].now;
}

/* ---- shard.c ---- */

/*
 * Apply a gradient to what is there now, or to a snapshot: sums over so many
 * examples, of the rows in s->pushed.
 */
void shard_apply(struct shard *, struct shard_snapshot *, size_t part,
		 const void *gradient, const struct shard_push *, uint64_t of);

/*
 * What shard_push_replicas() applies, of the rows in s->pushed; good until the
 * next one.  1; 0: the round changes nothing; -1: it is not finite.
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
/* A round has made what is there of a part: those who pull for this step get
   the difference. */
void shard_publish(struct shard *, size_t part, uint64_t step);
/* Only put down what would be published, as the copy has it then; false: the
   copy begins anew. */
bool published_could(const struct shard *, size_t part, uint64_t step);
bool published_lead(struct shard *, size_t part, uint64_t step,
		    struct difference *);
void published_keep(struct published *, struct difference *);
/* A pull.  last is one difference behind those that are kept, or none; begun:
   the copy begins anew. */
void published_pull(struct shard *, size_t part, uint64_t have,
		    struct difference last, bool begun, struct shard_news *);

/* ---- shard_rows.c ---- */

/* The values of some rows of a piece, one after the other. */
void piece_state_pull(const struct piece_state *, const struct shard_piece *,
		      const struct row_list *, float *to);

/* A gradient for some rows, laid out the same, at any address. */
void piece_state_push(struct piece_state *, const struct shard_piece *,
		      const struct apply *, const struct row_list *,
		      const void *gradient);

/* ---- shard_snapshot.c ---- */

/* What a piece holds now, by reference, until it is written; and let go of. */
struct piece_state piece_state_share(const struct shard_piece *);
void piece_state_release(struct piece_state *, const struct shard_piece *);

/* Take hold of what is there now, by reference, unless it was done before. */
void shard_snapshot_freeze(struct shard_snapshot *);

#endif
