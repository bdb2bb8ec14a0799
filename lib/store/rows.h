/*
 * rows - writes hashed tables to checkpoints, and reads them.
 *
 * A server's part of a table is a variable of its own, EMB/keys-FIRST-LAST.  It
 * has the rows whose keys have FIRST to LAST in their first 16 bits, in the
 * order of keys, and, besides the optimizer's slots, the slots "id" and
 * "update" of 64-bit numbers.  Ids that wait to be admitted are
 * EMB/waiting-FIRST-LAST; their values are the numbers of pushes to them.  See
 * ps-ckpt(5).
 */
#ifndef PS_ROWS_H
#define PS_ROWS_H

#include "store/checkpoint.h"
#include "tensor/table.h"
#include "tensor/variable.h"

/* Return the name of a part, such as "EMB/keys-FIRST-LAST", for the caller to
   free. */
char *rows_part_name(const char *table, bool waits, struct rows ranges);

/* Parse such a name; false: it is another name. */
struct rows_part {
	size_t table;			/* characters of the table's name */
	bool waits;			/* "waiting", not "keys" */
	size_t first;			/* FIRST */
};
bool rows_part(struct rows_part *, const char *name);

/*
 * Describe the arrays that a checkpoint has of some ranges of keys of a hashed
 * variable; the table must not change until they are written.  There is room
 * for ROWS_ARRAYS; return how many there are.  A table without rows has one
 * without rows, for its counts, or none if there were no updates.  The
 * caller frees the variable name of each array.
 */
#define ROWS_ARRAYS	(2 * (3 + OPTIMIZER_SLOTS))
size_t rows_arrays(const struct variable *, const struct table *,
		   struct rows ranges, uint64_t updates,
		   struct checkpoint_array *);

/* Return the counts of a variable, over all of its shards or parts; zeros: the
   checkpoint does not have it. */
struct checkpoint_counts rows_counts(const struct checkpoint *,
				     const struct variable *);

/*
 * Put the rows of some ranges of keys into an empty table.  *updates, which the
 * caller has initialized, rises to the most updates of any part.  Without
 * slots, or where the checkpoint lacks them, slots get their first values.
 * Return 0, or -1 (FAIL_DATA) for rows of another width, or for damage.
 */
int rows_restore(struct checkpoint *, const struct variable *,
		 struct table *, struct rows ranges, bool slots,
		 uint64_t *updates, struct fail *);

/*
 * The functions by which a role, which must not read files itself, reads a
 * checkpoint: checkpoint_read() and rows_restore(), or those of a test.
 */
struct checkpoint_reader {
	int (*read)(struct checkpoint *, const char *variable,
		    const char *slot, struct shape, struct rows,
		    float *out, uint64_t *updates, struct fail *);
	int (*read_rows)(struct checkpoint *, const struct variable *,
			 struct table *, struct rows ranges, bool slots,
			 uint64_t *updates, struct fail *);
};
extern const struct checkpoint_reader checkpoint_reader;

#endif
