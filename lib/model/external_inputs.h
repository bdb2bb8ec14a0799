/*
 * external_inputs - what a program of the user's is sent of a batch: inputs,
 * the label, layers, as arrays.  What they look like is in ps-step(5).
 *
 *	external_inputs_open(&e, inputs, others)
 *	external_inputs_begin(&e, ids)		of the batch
 *	external_inputs_add...(&e, ...)		one by one
 *	... e.array[e.count++] = ...		and others behind them
 *	external_inputs_close(&e)
 */
#ifndef PS_EXTERNAL_INPUTS_H
#define PS_EXTERNAL_INPUTS_H

#include "model/batch.h"
#include "model/external.h"

struct external_inputs {
	struct external_array *array;
	size_t count;
	char (*name)[72];		/* of parts of inputs */
	size_t names;
	uint64_t *id, *to;		/* of all inputs, end to end */
	float *one;			/* weights that no batch keeps */
	size_t id_room, one_room;
};

/* At most so many inputs, and so many arrays more behind them. */
void external_inputs_open(struct external_inputs *, size_t inputs,
			  size_t others);
void external_inputs_close(struct external_inputs *);

/* Numbers that stand for so many examples of ids; a label that is not there
   has none. */
size_t external_inputs_ids(const struct feature *, size_t examples);

/* A batch, with so many of them in all: no array yet. */
void external_inputs_begin(struct external_inputs *, size_t ids);

/* The values are borrowed, and only read; a shape of rank 0: one number. */
void external_inputs_add_ids(struct external_inputs *, const char *name,
			     const struct feature *, size_t examples);
void external_inputs_add_floats(struct external_inputs *, const char *name,
				struct shape, const float *, size_t examples);

#endif
