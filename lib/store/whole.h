/*
 * whole - a checkpoint's arrays as a model knows them, whoever wrote them.
 *
 * A hashed table, which each server writes under a name of its own (rows.h),
 * is one array under the variable's name: "emb/embeddings", its rows in the
 * order of their keys, their ids in slot "id".  Those that wait are
 * "emb/embeddings/waiting".
 */
#ifndef PS_WHOLE_H
#define PS_WHOLE_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>
#include <stddef.h>

struct whole_array {
	char *variable;
	const char *slot;		/* borrowed from the checkpoint */
	struct shape shape;
	bool hashed;			/* a row is known by its id */
	bool numbers;			/* 64-bit ones, not floats */
	const struct checkpoint_entry **part;	/* by their first key */
	size_t parts;
};

struct whole {
	struct checkpoint *checkpoint;	/* borrowed */
	struct whole_array *array;	/* by name, values first */
	size_t count;
};

/* FAIL_DATA if parts do not fit together.  Release it, then, too. */
int whole_open(struct whole *, struct checkpoint *, struct fail *);
void whole_release(struct whole *);

/* One of them, or NULL. */
const struct whole_array *whole_find(const struct whole *,
				     const char *variable, const char *slot);

/* Its name, "VARIABLE" or "VARIABLE@SLOT"; free it. */
char *whole_name(const struct whole_array *);

/* Rows of one: floats, or numbers. */
int whole_read(const struct whole *, const struct whole_array *, struct rows,
	       void *out, struct fail *);

#endif
