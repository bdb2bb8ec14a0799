/*
 * external_inputs - the arrays of a batch that a program of the user's is sent:
 * inputs, the label, layers.  ps-step(5) describes them.
 *
 *	external_inputs_open(&e, inputs, others)
 *	external_inputs_begin(&e, ids)		for each batch
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
	char (*name)[72];		/* names of inputs and their parts */
	size_t names;
	uint64_t *id, *to;		/* ids of all inputs, end to end; to:
					   the end */
	float *one;			/* weights of 1 */
	size_t id_room, one_room;
};

/*
 * Make room for at most this number of inputs, and for other arrays behind
 * them.
 */
void external_inputs_open(struct external_inputs *, size_t inputs,
			  size_t others);
void external_inputs_close(struct external_inputs *);

/*
 * Return how many numbers (ids and offsets) a feature of ids takes in
 * `examples` examples.  A label that was not read has no ids.
 */
size_t external_inputs_ids(const struct feature *, size_t examples);

/*
 * Begin a batch without any array yet; ids is the sum of external_inputs_ids()
 * over its features.
 */
void external_inputs_begin(struct external_inputs *, size_t ids);

/*
 * Add the arrays of a feature of ids, or an array of floats of this shape for
 * each example (rank 0: one number).  The floats are borrowed, and only read.
 */
void external_inputs_add_ids(struct external_inputs *, const char *name,
			     const struct feature *, size_t examples);
void external_inputs_add_floats(struct external_inputs *, const char *name,
				struct shape, const float *, size_t examples);

#endif
