#include "model/external_inputs.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define PARTS	3		/* arrays of an input of ids, at most */

void
external_inputs_open(struct external_inputs *e, size_t inputs, size_t others)
{
	*e = (struct external_inputs){ 0 };
	e->array = mem_alloc(PARTS * inputs + others, sizeof(*e->array));
	e->name = mem_alloc(PARTS * inputs, sizeof(*e->name));
}

void
external_inputs_close(struct external_inputs *e)
{
	free(e->array);
	free(e->name);
	free(e->id);
	free(e->one);
}

size_t
external_inputs_ids(const struct feature *x, size_t examples)
{
	return examples + 1 + (x->input ? feature_count(x, examples) : 0);
}

void
external_inputs_begin(struct external_inputs *e, size_t ids)
{
	e->count = e->names = 0;
	if (ids > e->id_room || !e->id) {
		free(e->id);
		e->id_room = ids;
		e->id = mem_alloc(ids, sizeof(*e->id));
	}
	e->to = e->id;
}

/* Add an array of an input, named name followed by part. */
static struct external_array *
add_part(struct external_inputs *e, const char *name, const char *part,
	 size_t first, struct shape shape)
{
	struct external_array *a = &e->array[e->count++];
	char *all = e->name[e->names++];

	snprintf(all, sizeof(*e->name), "%s%s", name, part);
	*a = (struct external_array){ .name = all, .examples = first,
				      .shape = shape };
	return a;
}

/*
 * Return weights of 1, for any input: a batch keeps no weights if all are 1,
 * but a program is sent them.
 */
static float *
ones(struct external_inputs *e)
{
	if (e->one_room < e->id_room) {
		free(e->one);
		e->one_room = e->id_room;
		e->one = mem_alloc(e->one_room, sizeof(*e->one));
		for (size_t i = 0; i < e->one_room; i++)
			e->one[i] = 1;
	}
	return e->one;
}

/*
 * One array of ids; for a ragged or sparse input also one of offsets, and for a
 * sparse one of weights.
 */
void
external_inputs_add_ids(struct external_inputs *e, const char *name,
			const struct feature *x, size_t examples)
{
	const size_t n = feature_count(x, examples);
	const bool bags = input_width(x->input) == 0;
	const struct shape one = { 0 };
	struct external_array *a;

	/* A first axis of 0 ids is an axis as well. */
	a = add_part(e, name, "", bags ? 0 : examples, bags ?
		     (struct shape){ 1, { n } } : x->input->shape);
	a->id = e->to;
	for (size_t i = 0; i < n; i++)
		*e->to++ = feature_id(x, i);
	if (!bags)
		return;
	add_part(e, name, "/offset", examples + 1, one)->id = e->to;
	for (size_t i = 0; i <= examples; i++)
		*e->to++ = x->offset[i];
	if (x->input->kind == INPUT_SPARSE)
		add_part(e, name, "/weight", 0, (struct shape){ 1, { n } })
			->at = x->weight ? x->weight : ones(e);
}

void
external_inputs_add_floats(struct external_inputs *e, const char *name,
			   struct shape shape, const float *at,
			   size_t examples)
{
	/* The cast is safe: the array is only read. */
	add_part(e, name, "", examples, shape)->at = (float *)(uintptr_t)at;
}
