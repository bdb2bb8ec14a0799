/*
 * checkpoint - a model's variables and slots at one step, on disk.
 *
 *	DIR/ckpt-00000300/		written under a temporary name
 *		shard-0-of-2.tar	one for each server: .npy members,
 *		shard-1-of-2.tar	their manifest last
 *		MANIFEST.json		written when all the others are safe
 *
 * The format is in ps-ckpt(5).  Writing: each server writes its part with
 * checkpoint_write_part(), the coordinator publishes.  Reading: a checkpoint
 * is opened once, verified, and gives any rows of any variable, whoever wrote
 * them: so it restores under another number of servers.
 */
#ifndef PS_CHECKPOINT_H
#define PS_CHECKPOINT_H

#include "base/fail.h"
#include "base/hash.h"
#include "model/model.h"
#include "tensor/partition.h"
#include "tensor/shape.h"
#include "tensor/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of a variable, or of one of its slots, as a server holds them. */
struct checkpoint_array {
	const char *variable;
	const char *slot;		/* "" for the values themselves */
	struct shape shape;		/* of the whole variable */
	struct rows rows;		/* the part that is here */
	const struct checkpoint_piece {
		const float *data;
		size_t count;		/* floats */
	} *piece;			/* together rows.count x width */
	size_t pieces;
	uint64_t updates;		/* of the variable, so far */
	uint64_t since, begun;		/* see struct checkpoint_counts */

	/* In place of pieces: the rows of a table, in order of key; of each
	   the floats from column on, or for these slots a number. */
	const struct table *table;
	size_t column;

	/* In place of both: a slot of numbers, one for each row. */
	const uint64_t *number;
};

/* Slots of 64-bit numbers: a row's id, and the update that touched it. */
#define CHECKPOINT_ID		"id"
#define CHECKPOINT_UPDATE	"update"

/*
 * What an optimizer counts begins when its slots do: with the variable, or
 * later, when it took the place of another one.
 */
struct checkpoint_counts {
	uint64_t updates;		/* of the variable, so far; */
	uint64_t since;			/* so many of them were before that */
	uint64_t begun;			/* the step that schedules count from;
					   below 0, modulo 2^64, where updates
					   were imported */
};

/* What the coordinator must know of a part to vouch for it. */
struct checkpoint_part {
	uint64_t size;
	char hash[HASH_TEXT];		/* of the whole file */
};

/*
 * Write part i of n into DIR/.tmp-NAME (made if missing), and make it safe.
 * Nothing is left behind on failure but the temporary folder.
 */
int checkpoint_write_part(const char *dir, const char *name, size_t i,
			  size_t n, const struct checkpoint_array *,
			  size_t arrays, struct checkpoint_part *,
			  struct fail *);

/* What MANIFEST.json says beside the parts. */
struct checkpoint_info {
	uint64_t step;			/* holds exactly the steps below it */
	bool has_previous;		/* one of fewer steps was there when */
	uint64_t previous;		/* it was published: the last of them,
					   which checkpoint_publish() finds */
	char run[33];			/* the run's id, 32 digits */
	uint64_t seed;
	bool final;			/* the last one of a run */
	uint64_t examples;		/* trained on so far */
	double seconds;			/* of training so far */
	char time[32];			/* RFC 3339, when it was published;
					   "" has checkpoint_publish() set it,
					   to SOURCE_DATE_EPOCH if that is
					   in the environment */
	char *sampler;			/* where the data sampler was, in
					   hexadecimal, or NULL: borrowed, if
					   nothing else is said */
};

/* The name of a step's checkpoint: "ckpt-00000300". */
#define CHECKPOINT_NAME	64
void checkpoint_name(uint64_t step, char name[CHECKPOINT_NAME]);

/* Vouch for n parts under DIR/.tmp-NAME and give them their name. */
int checkpoint_publish(const char *dir, const char *name,
		       const struct checkpoint_info *,
		       const struct model_source *,
		       const struct checkpoint_part *, size_t n,
		       struct fail *);

/* Mark one that was published before as the final one of its run. */
int checkpoint_finish(const char *dir, const char *name, struct fail *);

/* What a run keeps beside them until it has ended. */
#define JOURNAL_FILE	"journal"

/* Is this the path of a checkpoint?  A folder of them it is not, then, which
   is FAIL_USAGE where one is wanted. */
bool checkpoint_is_one(const char *path);

/* Can checkpoints be written here?  Tried with a file.  Makes dir. */
int checkpoint_probe(const char *dir, struct fail *);

/* Remove what an interrupted writer left (.tmp-*). */
void checkpoint_sweep(const char *dir);

/*
 * Names in dir, oldest step first; none is not a failure, no folder is
 * FAIL_NOINPUT.  Release by checkpoint_list_free().
 */
struct checkpoint_list {
	char **name;
	uint64_t *step;
	size_t count;
};
int checkpoint_list(struct checkpoint_list *, const char *dir, struct fail *);
void checkpoint_list_free(struct checkpoint_list *);

/*
 * Remove all that are older than the newest keep whole ones; damaged ones do
 * not count (with verify their arrays are read, too), nor do those of steps
 * above newest, which stay.  keep 0: all stay.
 */
int checkpoint_prune(const char *dir, uint64_t newest, size_t keep,
		     bool verify, struct fail *);
int checkpoint_remove(const char *dir, const char *name, struct fail *);

/* 1 or 0; -1 if that was not found out. */
int checkpoint_is_whole(const char *dir, const char *name, bool verify,
			struct fail *);

/* ---- reading ---- */

struct checkpoint;

/*
 * Open DIR/NAME or the path of one.  Checks MANIFEST.json, sizes, shapes and
 * rows and, with verify, every hash; without, an array's hash is checked when
 * it is first read.  Damage is FAIL_DATA with file, offset and reason.
 */
struct checkpoint *checkpoint_open(const char *path, bool verify,
				   struct fail *);
void checkpoint_close(struct checkpoint *);

/*
 * For people: a checkpoint's own path, or a folder's newest, which must be
 * whole.  FAIL_NOINPUT if there is none.
 */
struct checkpoint *checkpoint_choose(const char *path, bool verify,
				     struct fail *);

/* Open the newest one in dir that is whole; those that are not are told
   through warn (may be NULL).  None: FAIL_NOINPUT. */
struct checkpoint *checkpoint_newest(const char *dir,
				     void (*warn)(const char *text),
				     struct fail *);

const struct checkpoint_info *checkpoint_info(const struct checkpoint *);
const struct model_source *checkpoint_model(const struct checkpoint *);
const char *checkpoint_path(const struct checkpoint *);
/* The last component of that, or, where "." is all that it says, the name
   that it was made under. */
const char *checkpoint_folder(const struct checkpoint *);
uint64_t checkpoint_size(const struct checkpoint *);	/* bytes of parts */

/*
 * What it holds: each variable's values and slots as whole arrays, by name,
 * values first.
 */
struct checkpoint_entry {
	const char *variable, *slot;
	struct shape shape;
	size_t shards;
	uint64_t updates;		/* the most of any shard */
	uint64_t since, begun;		/* see struct checkpoint_counts */
};
const struct checkpoint_entry *checkpoint_entries(const struct checkpoint *,
						  size_t *count);
/* One of them, or NULL. */
const struct checkpoint_entry *checkpoint_find(const struct checkpoint *,
					       const char *variable,
					       const char *slot);

/*
 * Rows first .. first + count - 1 of a variable's values or slot.
 * -1 with FAIL_DATA if it is missing, of another shape, or damaged.  Only the
 * shards that overlap are read.  updates (NULL: not wanted) is the most of
 * those.
 */
int checkpoint_read(struct checkpoint *, const char *variable,
		    const char *slot, struct shape, struct rows,
		    float *out, uint64_t *updates, struct fail *);

/* The same of a slot of numbers; checkpoint_read() rounds them to floats. */
int checkpoint_numbers(struct checkpoint *, const char *variable,
		       const char *slot, struct rows, uint64_t *out,
		       struct fail *);

#endif
