/*
 * merged_arrays - joins the parts of a checkpoint's arrays into the arrays that
 * the model has.
 *
 * Each server writes its part of a hashed table under a name of its own
 * (rows.h).  Here the table is one array under the variable's name, for example
 * "emb/embeddings", with its rows in the order of their keys, and the ids of
 * the rows in its slot "id".  Ids that wait to be admitted are the array
 * "emb/embeddings/waiting".
 */
#ifndef PS_MERGED_ARRAYS_H
#define PS_MERGED_ARRAYS_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>
#include <stddef.h>

struct merged_array {
	char *variable;
	const char *slot;		/* borrowed from the checkpoint */
	struct shape shape;
	bool hashed;			/* of a hashed table */
	bool numbers;			/* of uint64_t; false: of floats */
	const struct checkpoint_entry **part;	/* sorted by their first key */
	size_t parts;
};

struct merged_arrays {
	struct checkpoint *checkpoint;	/* borrowed */
	struct merged_array *array;	/* sorted by name, values first */
	size_t count;
};

/* Join the arrays of a checkpoint.  Return 0, or -1 (FAIL_DATA) if parts do not
   fit together; the caller releases the struct in both cases. */
int merged_arrays_open(struct merged_arrays *, struct checkpoint *,
		       struct fail *);
void merged_arrays_release(struct merged_arrays *);

/* Return an array, or NULL. */
const struct merged_array *merged_arrays_find(const struct merged_arrays *,
					      const char *variable,
					      const char *slot);

/* Return the name of an array, "VARIABLE" or "VARIABLE@SLOT", for the caller to
   free. */
char *merged_array_name(const struct merged_array *);

/* Read some rows of an array to out, as floats or as uint64_t, as the array has
   them.  Return 0 or -1. */
int merged_arrays_read(const struct merged_arrays *,
		       const struct merged_array *, struct rows, void *out,
		       struct fail *);

#endif
