/*
 * checkpoint - a model's variables and slots at one step, on disk.
 *
 *	DIR/ckpt-00000300/		written under a temporary name
 *		shard-0-of-2.tar	one for each server: .npy members,
 *		shard-1-of-2.tar	their manifest last
 *		MANIFEST.json		written when all the others are safe
 *
 * ps-ckpt(5) describes the format.  Each server writes its part with
 * checkpoint_write_part(), then the coordinator calls checkpoint_publish().  A
 * reader opens a checkpoint once, and can read any rows of any variable from
 * whichever parts have them, so a run with another number of servers can
 * restore it.
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

	/* In place of pieces: the rows of a table, in order of key, or no
	   rows at all, so that only its counts are kept; from each row the
	   floats from column on, or, for the slots id and update, a
	   number. */
	const struct table *table;
	size_t column;

	/* In place of both: a slot of numbers, one for each row. */
	const uint64_t *number;
};

/* The slots of 64-bit numbers: a row's id, and the last update that changed
   the row. */
#define CHECKPOINT_ID		"id"
#define CHECKPOINT_UPDATE	"update"

/*
 * The counts of an optimizer, which begin when its slots begin: with the
 * variable, or later, if it took the place of another optimizer.
 */
struct checkpoint_counts {
	uint64_t updates;		/* of the variable, so far */
	uint64_t since;			/* updates before the slots began */
	uint64_t begun;			/* the step less the schedule's
					   position; below 0, modulo 2^64, if
					   updates were imported */
};

/*
 * May an array be saved?  Its largest absolute value is that of
 * kernel_largest().  A value that is not finite spoils all that is computed
 * from it, and so does a slot that is NaN.  A slot may be infinite, as a sum of
 * squares may become: then only its own value is no longer trained.
 */
bool checkpoint_sound(const char *slot, float largest);

/* What MANIFEST.json has of a part, so that damage to the part is found. */
struct checkpoint_part {
	uint64_t size;			/* bytes of the file */
	char hash[HASH_TEXT];		/* of the whole file */
};

/*
 * Write part i of n into DIR/.tmp-NAME, which is made if it is missing, and
 * make it safe on disk.  Return 0 and set the part; or -1, and nothing is left
 * but the temporary folder.  Numbers that are not finite are FAIL_DATA; but a
 * slot may be infinite, see ps-ckpt(5).
 */
int checkpoint_write_part(const char *dir, const char *name, size_t i,
			  size_t n, const struct checkpoint_array *,
			  size_t arrays, struct checkpoint_part *,
			  struct fail *);

/* What MANIFEST.json has besides the parts. */
struct checkpoint_info {
	uint64_t step;			/* exactly the steps below are done */
	bool has_previous;		/* when it was published the folder had
					   checkpoints of earlier steps; */
	uint64_t previous;		/* the last of these steps; set by
					   checkpoint_publish(), as the flag */
	char run[33];			/* the run's id, 32 digits */
	uint64_t seed;
	bool final;			/* the last one of a run */
	uint64_t examples;		/* trained on so far */
	double seconds;			/* of training so far */
	char time[32];			/* RFC 3339, when it was published; if
					   "", checkpoint_publish() sets it, to
					   SOURCE_DATE_EPOCH if that is in the
					   environment */
	char *sampler;			/* state of the data sampler, in
					   hexadecimal digits, or NULL; borrowed
					   unless a comment says otherwise */
};

/* Write the name of a step's checkpoint, such as "ckpt-00000300". */
#define CHECKPOINT_NAME	64
void checkpoint_name(uint64_t step, char name[CHECKPOINT_NAME]);

/*
 * Publish a checkpoint: check the n parts in DIR/.tmp-NAME, write MANIFEST.json
 * there, and rename the folder to DIR/NAME.  A checkpoint that has the name
 * already is replaced.  Return 0 or -1.
 */
int checkpoint_publish(const char *dir, const char *name,
		       const struct checkpoint_info *,
		       const struct model_source *,
		       const struct checkpoint_part *, size_t n,
		       struct fail *);

/* Mark a published checkpoint as the final one of its run.  Return 0 or -1. */
int checkpoint_finish(const char *dir, const char *name, struct fail *);

/* A file that a run keeps beside its checkpoints until it has ended. */
#define JOURNAL_FILE	"journal"

/* Is this the path of a checkpoint, not that of a folder of checkpoints?
   Functions that want such a folder refuse a checkpoint with FAIL_USAGE. */
bool checkpoint_is_one(const char *path);

/* Make dir, unless it is there, and check that files can be written in it.
   Return 0 or -1. */
int checkpoint_probe(const char *dir, struct fail *);

/* Remove what an interrupted writer left (.tmp-*). */
void checkpoint_sweep(const char *dir);

/*
 * List the names of the checkpoints in dir, the oldest step first; the list may
 * be empty.  Return 0, and checkpoint_list_free() frees the list; or -1
 * (FAIL_NOINPUT if there is no folder).
 */
struct checkpoint_list {
	char **name;
	uint64_t *step;
	size_t count;
};
int checkpoint_list(struct checkpoint_list *, const char *dir, struct fail *);
void checkpoint_list_free(struct checkpoint_list *);

/*
 * Keep the newest whole checkpoints, keep of them, and remove all that are
 * older; with keep 0 all stay.  A damaged checkpoint does not count; verify:
 * the hashes of arrays are checked, too.  Checkpoints of steps above newest do
 * not count either, and stay.  Return 0 or -1.
 */
int checkpoint_prune(const char *dir, uint64_t newest, size_t keep,
		     bool verify, struct fail *);

/* Remove a checkpoint; one that is not there is no failure.  Return 0 or -1. */
int checkpoint_remove(const char *dir, const char *name, struct fail *);

/* Return 1 if a checkpoint is whole, 0 if it is damaged or missing, -1
   (FAIL_AGAIN) if reading was asked to stop. */
int checkpoint_is_whole(const char *dir, const char *name, bool verify,
			struct fail *);

/* ---- reading ---- */

struct checkpoint;

/*
 * Open the checkpoint at a path.  Check MANIFEST.json, sizes, shapes and rows,
 * and, with verify, every hash; without, an array's hash is checked when the
 * array is first read.  NULL: FAIL_DATA for damage, with file, offset and
 * reason; FAIL_NOINPUT if there is none.
 */
struct checkpoint *checkpoint_open(const char *path, bool verify,
				   struct fail *);
void checkpoint_close(struct checkpoint *);

/*
 * Open the checkpoint that a user has named: by its own path, or by that of a
 * folder, whose newest checkpoint it is.  That must be whole: no older one is
 * taken in its place.  NULL: FAIL_NOINPUT if there is none.
 */
struct checkpoint *checkpoint_choose(const char *path, bool verify,
				     struct fail *);

/*
 * Open the newest whole checkpoint in dir, all hashes checked; warn(), unless
 * it is NULL, gets a message for each newer one that is damaged.  NULL:
 * FAIL_NOINPUT if there is no checkpoint, FAIL_DATA if none is whole.
 */
struct checkpoint *checkpoint_newest(const char *dir,
				     void (*warn)(const char *text),
				     struct fail *);

/* What these return is borrowed until checkpoint_close(). */
const struct checkpoint_info *checkpoint_info(const struct checkpoint *);
const struct model_source *checkpoint_model(const struct checkpoint *);
const char *checkpoint_path(const struct checkpoint *);
/* The last component of the path; if that is "." or "..", the name under which
   the checkpoint was published. */
const char *checkpoint_folder(const struct checkpoint *);
uint64_t checkpoint_size(const struct checkpoint *);	/* bytes of parts */

/*
 * The values, or a slot, of a variable as one array.  Entries are sorted by
 * variable, then by slot, values first.
 */
struct checkpoint_entry {
	const char *variable, *slot;
	struct shape shape;
	size_t shards;			/* members that have rows of it */
	uint64_t updates;		/* the most of any shard */
	uint64_t since, begun;		/* see struct checkpoint_counts */
};
const struct checkpoint_entry *checkpoint_entries(const struct checkpoint *,
						  size_t *count);

/* The parts of hashed tables that have no rows, and hence no entry: only their
   names and counts are known. */
const struct checkpoint_entry *checkpoint_empty(const struct checkpoint *,
						size_t *count);
/* Return an entry, or NULL. */
const struct checkpoint_entry *checkpoint_find(const struct checkpoint *,
					       const char *variable,
					       const char *slot);

/*
 * Read some rows of a variable's values, or of a slot, as floats; out has room
 * for them.  Only the shards that have some of these rows are read; *updates,
 * unless updates is NULL, is the most updates of these shards.  Return 0, or -1
 * (FAIL_DATA) if the array is missing, has another shape, or is damaged.
 */
int checkpoint_read(struct checkpoint *, const char *variable,
		    const char *slot, struct shape, struct rows,
		    float *out, uint64_t *updates, struct fail *);

/* The same for a slot of numbers, which checkpoint_read() would round to
   floats. */
int checkpoint_numbers(struct checkpoint *, const char *variable,
		       const char *slot, struct rows, uint64_t *out,
		       struct fail *);

#endif
