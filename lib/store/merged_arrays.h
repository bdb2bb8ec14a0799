/*
 * merged_arrays - a checkpoint's arrays as a model knows them, whoever wrote
 * them.
 *
 * A hashed table, which each server writes under a name of its own (rows.h),
 * is one array under the variable's name: "emb/embeddings", its rows in the
 * order of their keys, their ids in slot "id".  Those that wait are
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
	bool hashed;			/* a row is known by its id */
	bool numbers;			/* 64-bit ones, not floats */
	const struct checkpoint_entry **part;	/* by their first key */
	size_t parts;
};

struct merged_arrays {
	struct checkpoint *checkpoint;	/* borrowed */
	struct merged_array *array;	/* by name, values first */
	size_t count;
};

/* FAIL_DATA if parts do not fit together.  Release it, then, too. */
int merged_arrays_open(struct merged_arrays *, struct checkpoint *,
		       struct fail *);
void merged_arrays_release(struct merged_arrays *);

/* One of them, or NULL. */
const struct merged_array *merged_arrays_find(const struct merged_arrays *,
					      const char *variable,
					      const char *slot);

/* Its name, "VARIABLE" or "VARIABLE@SLOT"; free it. */
char *merged_array_name(const struct merged_array *);

/* Rows of one: floats, or numbers. */
int merged_arrays_read(const struct merged_arrays *,
		       const struct merged_array *, struct rows, void *out,
		       struct fail *);

#endif
