/*
 * hashed - the table of a variable whose rows are made as ids are met.
 */
#ifndef PS_HASHED_H
#define PS_HASHED_H

#include "tensor/table.h"
#include "tensor/variable.h"

/* Kept as long as the table, in the same place. */
struct hashed {
	const struct variable *variable;	/* borrowed */
	uint64_t seed;			/* of the initial values */
};

/* Of so many of its HASHED_RANGES: the share it has of the most rows. */
struct table *hashed_table(const struct hashed *, size_t ranges);

#endif
