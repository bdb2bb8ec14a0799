#include "model/batch.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Does the feature keep offsets, having any number of values an example? */
static bool
runs(const struct feature *f)
{
	return input_width(f->input) == 0;
}

static void
begin(struct feature *f, const struct input *in)
{
	*f = (struct feature){ .input = in };
	if (in && runs(f))
		feature_set_offset(f, 0, 0);
}

void
batch_begin(struct batch *b, const struct input *inputs, size_t count,
	    const struct input *label)
{
	*b = (struct batch){ .features = count };
	b->feature = mem_alloc(count, sizeof(*b->feature));
	for (size_t i = 0; i < count; i++)
		begin(&b->feature[i], &inputs[i]);
	begin(&b->label, label);
}

static void
release(struct feature *f)
{
	free(f->value);
	free(f->id);
	free(f->weight);
	free(f->offset);
	gather_release(&f->gather);
}

void
batch_release(struct batch *b)
{
	for (size_t i = 0; i < b->features; i++)
		release(&b->feature[i]);
	free(b->feature);
	release(&b->label);
	*b = (struct batch){ 0 };
}

void
batch_reset(struct batch *b)
{
	b->examples = 0;	/* offset[0] is 0 for good */
	b->prepared = false;
}

/* Where examples i up to i + count are to go; returns their values. */
static size_t
append_offsets(struct feature *to, size_t examples, const size_t *from,
	       size_t count)
{
	const size_t at = to->offset[examples];

	feature_set_offset(to, examples + count, 0);	/* make room */
	for (size_t k = 0; k <= count; k++)
		to->offset[examples + k] = at + from[k] - from[0];
	return from[count] - from[0];
}

static void
append(struct feature *to, size_t examples, const struct feature *from,
       size_t i, size_t count)
{
	const size_t width = input_width(to->input);
	size_t at = examples * width, first = i * width, n = count * width;

	if (runs(to)) {
		at = to->offset[examples];
		first = from->offset[i];
		n = append_offsets(to, examples, from->offset + i, count);
	}
	if (n == 0)
		return;		/* and perhaps there is no array */
	if (to->input->kind == INPUT_FLOAT)
		memcpy(feature_values(to, at, n), from->value + first,
		       n * sizeof(*to->value));
	else
		memcpy(feature_ids(to, at, n), from->id + first,
		       n * sizeof(*to->id));
	if (to->input->kind == INPUT_SPARSE)
		feature_add_weights(to, at, from->weight ?
				    from->weight + first : NULL, n);
}

void
batch_append_run(struct batch *to, const struct batch *from, size_t i,
		 size_t n)
{
	to->prepared = false;
	if (to->examples == 0)	/* labels are read by all, or by none */
		to->label.input = from->label.input;
	for (size_t k = 0; k < to->features; k++)
		append(&to->feature[k], to->examples, &from->feature[k], i,
		       n);
	if (to->label.input)
		append(&to->label, to->examples, &from->label, i, n);
	to->examples += n;
}

void
batch_append(struct batch *to, const struct batch *from, size_t i)
{
	batch_append_run(to, from, i, 1);
}

size_t
feature_count(const struct feature *f, size_t examples)
{
	return runs(f) ? f->offset[examples] :
		examples * input_width(f->input);
}

static size_t
bytes(const struct feature *f, size_t examples)
{
	return feature_count(f, examples) *
		((f->value ? sizeof(*f->value) : 0) +
		 (f->id ? sizeof(*f->id) : 0) +
		 (f->weight ? sizeof(*f->weight) : 0));
}

size_t
batch_bytes(const struct batch *b)
{
	size_t sum = b->label.input ? bytes(&b->label, b->examples) : 0;

	for (size_t i = 0; i < b->features; i++)
		sum += bytes(&b->feature[i], b->examples);
	return sum;
}

float *
feature_values(struct feature *f, size_t at, size_t n)
{
	f->value = mem_grow(f->value, at + n, &f->value_room,
			    sizeof(*f->value));
	return f->value + at;
}

uint64_t *
feature_ids(struct feature *f, size_t at, size_t n)
{
	f->id = mem_grow(f->id, at + n, &f->id_room, sizeof(*f->id));
	return f->id + at;
}

static bool
all_ones(const float *weight, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (weight[i] != 1)
			return false;
	return true;
}

void
feature_add_weights(struct feature *f, size_t at, const float *weight,
		    size_t n)
{
	const bool first = !f->weight;

	if (first && (!weight || all_ones(weight, n)))
		return;
	f->weight = mem_grow(f->weight, at + n, &f->weight_room,
			     sizeof(*f->weight));
	for (size_t i = 0; first && i < at; i++)
		f->weight[i] = 1;
	if (weight)
		memcpy(f->weight + at, weight, n * sizeof(*weight));
	for (size_t i = at; !weight && i < at + n; i++)
		f->weight[i] = 1;
}

void
feature_add_value(struct feature *f, size_t at, float value)
{
	f->value = mem_grow(f->value, at, &f->value_room, sizeof(*f->value));
	f->value[at] = value;
}

void
feature_add_id(struct feature *f, size_t at, uint64_t id)
{
	f->id = mem_grow(f->id, at, &f->id_room, sizeof(*f->id));
	f->id[at] = id;
}

void
feature_add_weight(struct feature *f, size_t at, float weight)
{
	feature_add_weights(f, at, &weight, 1);
}

void
feature_set_offset(struct feature *f, size_t example, size_t offset)
{
	f->offset = mem_grow(f->offset, example, &f->offset_room,
			     sizeof(*f->offset));
	f->offset[example] = offset;
}
