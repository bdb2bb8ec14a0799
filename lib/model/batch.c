#include "model/batch.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MORE	1.0625		/* times the average of the present examples, */
#define MOST	4e6		/* but at most this many items */
#define SOME	1024

/*
 * Return whether examples have any number of values, so that the feature keeps
 * offsets.
 */
static bool
has_offsets(const struct feature *f)
{
	return input_width(f->input) == 0;
}

static void
begin(struct feature *f, const struct input *in)
{
	*f = (struct feature){ .input = in };
	if (in && has_offsets(f))
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
	free(f->high);
	free(f->weight);
	free(f->offset);
	unique_ids_release(&f->gathered);
}

void
batch_release(struct batch *b)
{
	for (size_t i = 0; i < b->features; i++)
		release(&b->feature[i]);
	free(b->feature);
	release(&b->label);
	for (size_t i = 0; i < b->gathers; i++)
		unique_ids_release(&b->gather[i]);
	for (size_t i = 0; b->block_rows && i < b->gathers; i++)
		block_rows_release(&b->block_rows[i]);
	free(b->gather);
	free(b->block_rows);
	free(b->each);
	*b = (struct batch){ 0 };
}

void
batch_reset(struct batch *b)
{
	b->examples = 0;	/* offset[0] stays 0 */
	for (size_t i = 0; i < b->datasets; i++)
		b->each[i] = 0;
	b->prepared = false;
	for (size_t i = 0; i < b->features; i++)
		b->feature[i].is_gathered = false;
}

/* Append the offsets of count examples; return the number of their values. */
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

/*
 * Write n gathered ids of another feature, from its place first on, to places
 * from at on.
 */
static void
copy_gathered(struct feature *to, size_t at, const struct feature *from,
	      size_t first, size_t n)
{
	uint32_t *low = feature_ids(to, at, n), high[SOME];

	for (size_t done = 0, some; done < n; done += some) {
		some = n - done < SOME ? n - done : SOME;
		for (size_t i = 0; i < some; i++) {
			const uint64_t id = feature_id(from, first + done + i);

			low[done + i] = (uint32_t)id;
			high[i] = (uint32_t)(id >> 32);
		}
		if (input_wide(to->input))
			feature_add_high(to, at + done, high, some);
	}
}

static void
append(struct feature *to, size_t examples, const struct feature *from,
       size_t i, size_t count)
{
	const size_t width = input_width(to->input);
	size_t at = examples * width, first = i * width, n = count * width;

	if (has_offsets(to)) {
		at = to->offset[examples];
		first = from->offset[i];
		n = append_offsets(to, examples, from->offset + i, count);
	}
	if (n == 0)
		return;		/* the arrays may be NULL */
	if (to->input->kind == INPUT_FLOAT) {
		memcpy(feature_values(to, at, n), from->value + first,
		       n * sizeof(*to->value));
		return;
	}
	if (from->is_gathered) {
		copy_gathered(to, at, from, first, n);
	} else {
		memcpy(feature_ids(to, at, n), from->id + first,
		       n * sizeof(*to->id));
		feature_add_high(to, at, from->high ? from->high + first :
				 NULL, n);
	}
	if (to->input->kind == INPUT_SPARSE)
		feature_add_weights(to, at, from->weight ?
				    from->weight + first : NULL, n);
}

void
batch_append_run(struct batch *to, const struct batch *from, size_t i,
		 size_t n)
{
	to->prepared = false;
	if (to->examples == 0)	/* either all examples have labels, or none */
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

/* Make room in an array, if there is one. */
static void *
expect_items(void *array, size_t n, size_t *room, size_t size)
{
	return array ? mem_grow(array, n, room, size) : NULL;
}

static void
expect(struct feature *f, size_t examples, size_t among)
{
	const double each = (double)feature_count(f, examples) /
		(double)examples;
	const double all = each * (double)among * MORE;
	const size_t n = (size_t)(all < MOST ? all : MOST);

	f->value = expect_items(f->value, n, &f->value_room,
				sizeof(*f->value));
	f->id = expect_items(f->id, n, &f->id_room, sizeof(*f->id));
	f->high = expect_items(f->high, n, &f->high_room, sizeof(*f->high));
	f->weight = expect_items(f->weight, n, &f->weight_room,
				 sizeof(*f->weight));
}

void
batch_expect(struct batch *b, size_t examples)
{
	for (size_t i = 0; i < b->features && b->examples > 0; i++)
		expect(&b->feature[i], b->examples, examples);
}

size_t
feature_count(const struct feature *f, size_t examples)
{
	return has_offsets(f) ? f->offset[examples] :
		examples * input_width(f->input);
}

static size_t
bytes(const struct feature *f, size_t examples)
{
	return feature_count(f, examples) *
		((f->value ? sizeof(*f->value) : 0) +
		 (f->id || f->is_gathered ? sizeof(*f->id) : 0) +
		 (f->high ? sizeof(*f->high) : 0) +
		 (f->weight ? sizeof(*f->weight) : 0));
}

size_t
batch_examples(const struct batch *b, const struct feature *of)
{
	return b->each && of->input ? b->each[of->input->dataset] :
		b->examples;
}

uint64_t
batch_datasets(const struct batch *b)
{
	uint64_t all = 0;

	for (size_t i = 0; i < b->datasets; i++)
		all |= (uint64_t)(b->each[i] > 0) << i;
	return b->each ? all : 1;
}

size_t
batch_bytes(const struct batch *b)
{
	size_t sum = b->label.input ?
		bytes(&b->label, batch_examples(b, &b->label)) : 0;

	for (size_t i = 0; i < b->features; i++)
		sum += bytes(&b->feature[i], batch_examples(b, &b->feature[i]));
	return sum;
}

float *
feature_values(struct feature *f, size_t at, size_t n)
{
	f->value = mem_grow(f->value, at + n, &f->value_room,
			    sizeof(*f->value));
	return f->value + at;
}

uint64_t
feature_id(const struct feature *f, size_t at)
{
	uint64_t id;

	if (!f->is_gathered)
		return ids_at((struct ids){ f->id, f->high }, at);
	id = f->gathered.id[f->gathered.row[at]];
	return f->input->hashed ? hash_unmix(id) : id;
}

/* Move a pointer n items on, unless it is NULL. */
#define PASS(p, n)	((p) ? (p) + (n) : NULL)

struct feature
feature_from(const struct feature *f, size_t example)
{
	const size_t n = example * input_width(f->input);
	struct feature rest = *f;

	rest.value = PASS(f->value, n);
	rest.id = PASS(f->id, n);
	rest.high = PASS(f->high, n);
	rest.weight = PASS(f->weight, n);
	rest.gathered.row = PASS(f->gathered.row, n);
	rest.offset = PASS(f->offset, example);
	return rest;
}

void
input_gather(const struct input *in, struct unique_ids *to,
	     struct sorter *sorter, struct ids ids, size_t n)
{
	if (in->hashed)
		unique_ids_keys(to, sorter, ids, n);
	else
		unique_ids_find(to, sorter, ids, n, in->rows);
}

void
feature_gather(struct feature *f, size_t examples, struct sorter *sorter)
{
	input_gather(f->input, &f->gathered, sorter,
		     (struct ids){ f->id, f->high },
		     feature_count(f, examples));
	f->is_gathered = true;
}

void
feature_spread(struct feature *f, size_t at, size_t n)
{
	const struct feature was = *f;

	f->is_gathered = false;
	copy_gathered(f, at, &was, 0, n);
}

uint32_t *
feature_ids(struct feature *f, size_t at, size_t n)
{
	assert(!f->is_gathered);
	f->id = mem_grow(f->id, at + n, &f->id_room, sizeof(*f->id));
	return f->id + at;
}

/* ---- arrays that are left out while all items have the usual value ---- */

#define ITEM	4	/* bytes of a weight, or half an id */

static void
fill(char *item, size_t n, const void *usual)
{
	for (size_t i = 0; i < n; i++)
		memcpy(item + i * ITEM, usual, ITEM);
}

static bool
are_all(const char *item, size_t n, const void *usual)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(item + i * ITEM, usual, ITEM) != 0)
			return false;
	return true;
}

/*
 * Set n items from at on; NULL: to the usual value.  `there` is the array, or
 * NULL while all items have the usual value; return the array as it is now.
 */
static void *
add_optional(void *there, size_t *room, size_t at, const void *item, size_t n,
	     const void *usual)
{
	char *all;

	if (!there && (!item || are_all(item, n, usual)))
		return NULL;
	all = mem_grow(there, at + n, room, ITEM);
	if (!there)
		fill(all, at, usual);
	if (item)
		memcpy(all + at * ITEM, item, n * ITEM);
	else
		fill(all + at * ITEM, n, usual);
	return all;
}

void
feature_add_high(struct feature *f, size_t at, const uint32_t *high, size_t n)
{
	static const uint32_t usual = 0;

	f->high = add_optional(f->high, &f->high_room, at, high, n, &usual);
}

void
feature_add_weights(struct feature *f, size_t at, const float *weight,
		    size_t n)
{
	static const float usual = 1;

	f->weight = add_optional(f->weight, &f->weight_room, at, weight, n,
				 &usual);
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
	const uint32_t high = (uint32_t)(id >> 32);

	*feature_ids(f, at, 1) = (uint32_t)id;
	feature_add_high(f, at, &high, 1);
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

void
negative_labels_add(struct negative_labels *negatives, const float *label,
		    size_t n)
{
	bool zero = false, minus = false;

	for (size_t i = 0; i < n; i++) {
		zero |= (label[i] == 0) & !signbit(label[i]);
		minus |= (label[i] == 0) & !!signbit(label[i]);
	}
	negatives->zero = negatives->zero || zero;
	negatives->minus = negatives->minus || minus;
}

void
negative_labels_add_batch(struct negative_labels *negatives,
			  const struct batch *b)
{
	if (b->label.input && b->label.input->binary)
		negative_labels_add(negatives, b->label.value,
				    batch_examples(b, &b->label));
}
