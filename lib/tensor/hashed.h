/*
 * hashed - the table of a variable whose rows are made when their ids are first
 * pushed to.
 */
#ifndef PS_HASHED_H
#define PS_HASHED_H

#include "tensor/table.h"
#include "tensor/variable.h"

/*
 * What the table needs for first values.  The caller keeps it as long as the
 * table, at the same address.
 */
struct hashed {
	const struct variable *variable;	/* borrowed */
	uint64_t seed;			/* of the initial values */
};

/*
 * Return a new table for a shard that has `ranges` of the variable's
 * HASHED_RANGES ranges of keys.  If the variable has a limit of rows, the shard
 * has its share of the limit, at least 1 row.  The caller frees the table.
 */
struct table *hashed_table(const struct hashed *, size_t ranges);

#endif
