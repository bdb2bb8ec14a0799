/*
 * plan - which server holds what, and how it travels.
 *
 * A variable is cut into shards (tensor/partition); a shard of a table is one
 * piece, a shard of another variable is cut into pieces of at most
 * PLAN_PIECE bytes.  Neighbouring pieces of one server are bundled into parts
 * of about as much: a part is what one push or pull message is about, and the
 * unit that a step is applied to, once.
 *
 * The coordinator makes the plan; everybody else reads it off the wire.
 */
#ifndef PS_PLAN_H
#define PS_PLAN_H

#include "model/model.h"
#include "tensor/partition.h"
#include "wire/coding.h"
#include "wire/pack.h"

#define PLAN_PIECE	((size_t)512 << 10)	/* bytes */
#define PLAN_SERVERS	4096
#define PLAN_PIECES	((size_t)1 << 21)	/* at most */
#define PLAN_RUN	16			/* bytes of a run's id */
#define PLAN_BATCHES	4096			/* of a step, at most */

struct piece {
	uint32_t variable;
	bool table;
	size_t first, count;	/* rows of a table, ranges of a hashed one's
				   keys; else elements, row-major */
	size_t width;		/* floats of a row of a table; else 1 */
	bool hashed;
	bool exact;		/* no codec that loses much is for it */
	size_t of;		/* elements of the variable; of a table 0 */
};

struct part {
	uint32_t server;
	size_t first, count;	/* pieces */
};

struct plan {
	uint64_t number;
	uint64_t seed;			/* of the initial values */
	unsigned char run[PLAN_RUN];
	uint64_t term;
	struct codings *codings;	/* how gradients and values of steps
					   travel */
	uint64_t every;			/* at multiples of it what is published
					   is what is there; 0: never */
	uint64_t batches;		/* of a step, or of a slot: their
					   gradients are one push */
	size_t piece_bytes;		/* to make it: of a dense piece, at
					   most; 0: PLAN_PIECE */
	size_t servers;
	char **endpoint;		/* of each server */
	size_t pieces;
	struct piece *piece;		/* in order of part */
	size_t parts;
	struct part *part;		/* in order of server */
};

void plan_release(struct plan *);

/*
 * Would a plan of so many servers have too many pieces?  FAIL_CONFIG names the
 * variable that has most of them.
 */
int plan_check(const struct model *, const struct partitioner *,
	       size_t servers, struct fail *);

/* Fill pieces and parts; endpoints are copied. */
void plan_make(struct plan *, const struct model *, const struct place *,
	       size_t places, char *const *endpoint, size_t servers);

/* The first eight bytes of the run, as every push and pull carries them. */
uint64_t plan_run(const struct plan *);

/* Frames of a PLAN message. */
void plan_write(struct pack *, const struct plan *);

/*
 * Read one, checked against the model: pieces must cover every variable
 * exactly once.  number, seed, run, term and batches are the header's to fill
 * in.
 */
int plan_read(struct plan *, const struct model *, const void *, size_t,
	      struct fail *);

/* Do they lay out the same variables in the same way, and have differences of
   the same ones pulled? */
bool plan_same_layout(const struct plan *, const struct plan *);

/*
 * Take the endpoints, the codecs and the term of a newer PLAN of the same
 * number, which must be the same plan otherwise: FAIL_PROTOCOL if not.
 */
struct frame;
int plan_renew(struct plan *, const struct model *, uint64_t term,
	       const struct frame *, struct fail *);

/*
 * Take the codecs of another plan that is laid out like this one.  What was
 * sent by those before can be read as long as the plan is there.
 */
void plan_take_codings(struct plan *, struct plan *from);

/* How something of a step travels by this plan. */
struct encoding plan_encoding(const struct plan *, uint64_t step);

/*
 * Of a part whose differences are pulled, their coding; or NULL.  All of its
 * pieces have the same, and begin and end between blocks of its codec.
 */
const struct coding *plan_delta(const struct plan *, size_t part);

/* What a piece's difference is to its codec. */
struct codec_slice plan_difference(const struct plan *,
				   const struct piece *);

void plan_write_model(struct pack *, const struct model_source *);
int plan_read_model(struct model_source *, const void *, size_t,
		    struct fail *);

/*
 * The first row or key that a piece of a table has, and the last one counted
 * from there.
 */
uint64_t piece_key(const struct piece *);
uint64_t piece_last_key(const struct piece *);

/* Has the server any part?  With more servers than shards some have none. */
bool plan_uses(const struct plan *, size_t server);

/* What rows of a piece are to a codec. */
struct codec_slice plan_slice(const struct piece *, size_t rows);

/* Floats that a part has: all of its dense pieces. */
size_t plan_part_dense(const struct plan *, size_t part);

/*
 * For people: shards, bytes and skew of each server, bytes per step of a
 * worker with batches of so many examples, and of a round.  --plan prints it.
 */
struct plan_bags {		/* model_expect() was told by: */
	uint64_t records;	/* of the data, or 0: it was not; */
	bool all;		/* those are all that there are */
};
struct plan_steps {
	uint64_t batch, batches;	/* examples of one, and of a step */
	uint64_t replicas, backup;	/* of a round; 0: there is none, or
					   nobody knows how many it has */
	uint64_t beside;		/* servers with a worker beside each;
					   the first ones */
	struct plan_bags bags;
};
/* Bytes that a step pulls of a server and pushes to it: as --plan says. */
struct plan_load {
	size_t push, pull;
	bool open;		/* and rows that the model does not tell */
};
struct plan_load *plan_loads(const struct plan *, const struct model *,
			     const struct place *, size_t places,
			     uint64_t examples);

struct text;
void plan_print(struct text *, const struct plan *, const struct model *,
		const struct place *, size_t places,
		const struct plan_steps *);

#endif
