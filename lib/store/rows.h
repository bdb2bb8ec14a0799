/*
 * rows - hashed tables in checkpoints.
 *
 * A server's part of one is a variable of its own, EMB/keys-FIRST-LAST: the
 * rows whose keys begin with FIRST to LAST, in order of key, and beside its
 * slots the arrays "id" and "update" of 64-bit numbers.  Rows that wait to be
 * admitted are EMB/waiting-FIRST-LAST; their values are how often they were
 * pushed to.
 */
#ifndef PS_ROWS_H
#define PS_ROWS_H

#include "store/checkpoint.h"
#include "tensor/table.h"
#include "tensor/variable.h"

/* A part's name, "EMB/keys-FIRST-LAST"; free it. */
char *rows_part_name(const char *table, bool waits, struct rows ranges);

/* Is it such a name?  Then what it says. */
struct rows_part {
	size_t table;			/* characters of the table's name */
	bool waits;
	size_t first;			/* of its ranges */
};
bool rows_part(struct rows_part *, const char *name);

/*
 * Append what a checkpoint writes of ranges of a hashed variable, which must
 * not be written meanwhile; nothing if there are no rows.  Room for
 * ROWS_ARRAYS; variable names are new, and the caller's to free, one for each
 * array.
 */
#define ROWS_ARRAYS	(2 * (3 + OPTIMIZER_SLOTS))
size_t rows_arrays(const struct variable *, const struct table *,
		   struct rows ranges, uint64_t updates,
		   struct checkpoint_array *);

/* What was counted of a variable, whatever shards it has; zeros: nothing. */
struct checkpoint_counts rows_counts(const struct checkpoint *,
				     const struct variable *);

/*
 * Put the rows of these ranges into an empty table; updates is the most of
 * all parts.  Without slots these have their first values.  FAIL_DATA if they
 * are of another kind.
 */
int rows_restore(struct checkpoint *, const struct variable *,
		 struct table *, struct rows ranges, bool slots,
		 uint64_t *updates, struct fail *);

/*
 * How a role, which reads no files itself, has what it needs of a checkpoint
 * read: checkpoint_read() and rows_restore().
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
