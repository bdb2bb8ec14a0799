/*
 * plan - which server holds which pieces of the variables, and how they travel.
 *
 * A variable is cut into shards (tensor/partition.h).  A shard of a table is
 * one piece; a shard of another variable is cut into pieces of at most
 * PLAN_PIECE bytes.  Neighbouring pieces of one server are bundled into parts
 * of about that size.  A part is what one push or pull message is about, and
 * the unit that a step is applied to, once.
 *
 * The coordinator makes the plan; all others read it from a PLAN message.
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
	size_t first, count;	/* rows of a table, or ranges of a hashed
				   table's keys; else elements, row-major */
	size_t width;		/* floats of a row of a table; else 1 */
	bool hashed;
	bool exact;		/* it travels by no lossy codec */
	size_t of;		/* elements of the whole variable; 0 for a
				   table */
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
	struct codings *codings;	/* how the gradients and values of steps
					   travel */
	uint64_t every;			/* at steps that are multiples of it the
					   published copies begin anew; 0:
					   never */
	uint64_t batches;		/* batches of a step, or of a slot,
					   whose gradients are one push */
	size_t piece_bytes;		/* for plan_make(): most bytes of a
					   dense piece; 0: PLAN_PIECE */
	size_t servers;
	char **endpoint;		/* of each server */
	size_t pieces;
	struct piece *piece;		/* in order of part */
	size_t parts;
	struct part *part;		/* in order of server */
};

void plan_release(struct plan *);

/*
 * Check that a plan for this many servers has at most PLAN_PIECES pieces.
 * FAIL_CONFIG names the variable that has most of them.
 */
int plan_check(const struct model *, const struct partitioner *,
	       size_t servers, struct fail *);

/* Fill in pieces and parts from the places of all shards; endpoints are copied.
   plan->codings must be set before. */
void plan_make(struct plan *, const struct model *, const struct place *,
	       size_t places, char *const *endpoint, size_t servers);

/* The first eight bytes of the run's id, as every push and pull carries
   them. */
uint64_t plan_run(const struct plan *);

/* Write the plan's frame of a PLAN message. */
void plan_write(struct pack *, const struct plan *);

/*
 * Read that frame, and check it against the model: pieces must cover every
 * variable exactly once.  number, seed, run, term and batches are in the
 * header: the caller fills them in.  -1 (FAIL_PROTOCOL): it is malformed, or
 * does not fit the model.
 */
int plan_read(struct plan *, const struct model *, const void *, size_t,
	      struct fail *);

/* Do two plans lay out the same variables in the same way, and pull the
   differences of the same ones? */
bool plan_same_layout(const struct plan *, const struct plan *);

/*
 * Take over the endpoints, the codecs and the term of a newer PLAN of the same
 * number.  FAIL_PROTOCOL: it is not the same plan otherwise; nothing has
 * changed.
 */
struct frame;
int plan_renew(struct plan *, const struct model *, uint64_t term,
	       const struct frame *, struct fail *);

/*
 * Take the codecs from another plan with the same layout.  The earlier codecs
 * are kept as long as the plan, so that frames encoded by them can still be
 * read.
 */
void plan_take_codings(struct plan *, struct plan *from);

/* How the values or the gradient of a step travel by this plan. */
struct encoding plan_encoding(const struct plan *, uint64_t step);

/*
 * The coding of a part whose differences are pulled; NULL: it is pulled whole.
 * All pieces of such a part have the same coding, and begin and end at block
 * boundaries of its codec.
 */
const struct coding *plan_delta(const struct plan *, size_t part);

/* The slice of the difference of a whole piece. */
struct codec_slice plan_difference(const struct plan *,
				   const struct piece *);

/*
 * Write and read the model's frame of a PLAN message: its files, each a name
 * and a text.  The source that was read is the caller's, for
 * model_source_release().  FAIL_PROTOCOL: the frame is malformed.
 */
void plan_write_model(struct pack *, const struct model_source *);
int plan_read_model(struct model_source *, const void *, size_t,
		    struct fail *);

/*
 * The first row or key of a piece of a table; and its last one, less the first.
 */
uint64_t piece_key(const struct piece *);
uint64_t piece_last_key(const struct piece *);

/* Has the server a part?  With more servers than shards some have none. */
bool plan_uses(const struct plan *, size_t server);

/* A slice of a piece: of `rows' rows of a table, or elements of another
   variable. */
struct codec_slice plan_slice(const struct piece *, size_t rows);

/* The floats of a part's dense pieces. */
size_t plan_part_dense(const struct plan *, size_t part);

/*
 * What --plan prints for people: shards, bytes and skew of each server; bytes
 * of a worker's step, with batches of so many examples, and of a round.
 */
struct plan_bags {		/* what model_expect() was told of the data: */
	uint64_t records;	/* records; 0: it was not told */
	bool all;		/* those are all of the data */
};
struct plan_steps {
	uint64_t batch, batches;	/* examples of one, and of a step */
	uint64_t replicas, backup;	/* of a round; 0: there are no rounds,
					   or their number is not known */
	uint64_t beside;		/* how many servers, the first ones,
					   have a worker on their host */
	struct plan_bags bags;
};
/* The bytes that a step pulls from each server and pushes to it, as --plan
   prints them. */
struct plan_load {
	size_t push, pull;
	bool open;		/* and further rows, whose number the model does
				   not determine */
};
struct plan_load *plan_loads(const struct plan *, const struct model *,
			     const struct place *, size_t places,
			     uint64_t examples);

struct text;
void plan_print(struct text *, const struct plan *, const struct model *,
		const struct place *, size_t places,
		const struct plan_steps *);

#endif
