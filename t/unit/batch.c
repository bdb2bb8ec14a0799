/* A batch holds what was put in, and examples move from one to another. */
#include "model/batch.h"

#include "tap.h"

#include <string.h>

static const struct input inputs[] = {
	{ .kind = INPUT_FLOAT, .shape = { 1, { 2 } } },
	{ .kind = INPUT_ID, .rows = 9, .ragged = true },
	{ .kind = INPUT_SPARSE, .rows = 99 },
};
static const struct input label = { .kind = INPUT_FLOAT };

/* Example n has n words and n pairs. */
static void
add(struct batch *b, size_t n, float weight)
{
	const size_t e = b->examples;
	struct feature *x = &b->feature[0], *word = &b->feature[1],
		       *s = &b->feature[2];
	const size_t w = word->offset[e], p = s->offset[e];

	feature_add_value(x, 2 * e, (float)n);
	feature_add_value(x, 2 * e + 1, -(float)n);
	for (size_t i = 0; i < n; i++) {
		feature_add_id(word, w + i, n);
		feature_add_id(s, p + i, 10 * n + i);
		feature_add_weight(s, p + i, weight);
	}
	feature_set_offset(word, e + 1, w + n);
	feature_set_offset(s, e + 1, p + n);
	feature_add_value(&b->label, e, (float)n);
	b->examples++;
}

static void
test_width(void)
{
	ok(input_width(&inputs[0]) == 2 && input_width(&label) == 1);
	ok(input_width(&inputs[1]) == 0 && input_width(&inputs[2]) == 0);
}

static void
test_append(void)
{
	struct batch a, b;

	batch_begin(&a, inputs, 3, &label);
	batch_begin(&b, inputs, 3, &label);
	add(&a, 2, 1);
	add(&a, 0, 1);
	add(&a, 3, 1);
	ok(!a.feature[2].weight);
	batch_append(&b, &a, 2);
	ok(!b.feature[2].weight);
	add(&a, 1, .5f);
	ok(a.feature[2].weight[4] == 1 && a.feature[2].weight[5] == .5f);
	batch_append(&b, &a, 3);
	batch_append(&b, &a, 1);
	ok(b.examples == 3 && b.feature[0].value[0] == 3 &&
	   b.feature[0].value[1] == -3 && b.feature[0].value[4] == 0);

	const size_t offset[] = { 0, 3, 4, 4 };

	ok(memcmp(b.feature[1].offset, offset, sizeof(offset)) == 0 &&
	   memcmp(b.feature[2].offset, offset, sizeof(offset)) == 0);
	ok(b.feature[1].id[2] == 3 && b.feature[1].id[3] == 1);
	ok(b.feature[2].id[2] == 32 && b.feature[2].id[3] == 10);
	ok(b.feature[2].weight[2] == 1 && b.feature[2].weight[3] == .5f);
	ok(b.label.value[0] == 3 && b.label.value[1] == 1 &&
	   b.label.value[2] == 0);

	batch_reset(&b);
	batch_append(&b, &a, 0);
	ok(b.examples == 1 && b.feature[1].offset[1] == 2 &&
	   b.feature[2].weight[1] == 1 && b.label.value[0] == 2);
	/* A reader that reads no labels leaves this NULL. */
	a.label.input = NULL;
	batch_reset(&b);
	batch_append(&b, &a, 0);
	named(!b.label.input && b.examples == 1,
	      "a batch of examples without labels has no labels");
	a.label.input = &label;
	batch_release(&a);
	batch_release(&b);
}

static bool
same_ids(const struct feature *x, const struct feature *y, size_t n)
{
	return memcmp(x->offset, y->offset, 5 * sizeof(*x->offset)) == 0 &&
		memcmp(x->id, y->id, n * sizeof(*x->id)) == 0;
}

/* Adding several examples at once equals adding them one by one. */
static void
test_run(void)
{
	struct batch a, one, many;

	batch_begin(&a, inputs, 3, &label);
	batch_begin(&one, inputs, 3, &label);
	batch_begin(&many, inputs, 3, &label);
	for (size_t i = 0; i < 4; i++)
		add(&a, i, i == 2 ? .5f : 1);
	batch_append(&one, &a, 3);
	batch_append(&many, &a, 3);
	for (size_t i = 1; i < 4; i++)
		batch_append(&one, &a, i);
	batch_append_run(&many, &a, 1, 3);
	ok(many.examples == 4 && many.feature[1].offset[4] == 3 + 1 + 2 + 3);
	ok(same_ids(&many.feature[1], &one.feature[1], 9) &&
	   same_ids(&many.feature[2], &one.feature[2], 9) &&
	   memcmp(many.feature[2].weight, one.feature[2].weight,
		  9 * sizeof(float)) == 0);
	ok(memcmp(many.feature[0].value, one.feature[0].value,
		  8 * sizeof(float)) == 0 &&
	   memcmp(many.label.value, one.label.value, 4 * sizeof(float)) == 0);
	batch_release(&a);
	batch_release(&one);
	batch_release(&many);
}

/* Announcing a size keeps the examples; a batch of this size needs no further
   memory. */
static void
test_expected(void)
{
	struct batch a, b;
	const float *value;
	const uint32_t *id;
	size_t n;

	batch_begin(&a, inputs, 3, &label);
	batch_begin(&b, inputs, 3, &label);
	for (size_t i = 0; i < 4; i++)
		add(&a, i, i == 2 ? .5f : 1);
	batch_expect(&b, 5000);
	ok(!b.feature[0].value && !b.feature[1].id);
	batch_append_run(&b, &a, 0, 4);
	batch_expect(&b, 5000);
	value = b.feature[0].value;
	id = b.feature[1].id;
	n = feature_count(&a.feature[1], 4);
	ok(same_ids(&b.feature[1], &a.feature[1], n) &&
	   memcmp(value, a.feature[0].value, 8 * sizeof(*value)) == 0 &&
	   memcmp(b.feature[2].weight, a.feature[2].weight,
		  n * sizeof(float)) == 0);
	for (size_t i = 4; i < 5000; i += 4)
		batch_append_run(&b, &a, 0, 4);
	ok(b.feature[0].value == value && b.feature[1].id == id);
	batch_release(&a);
	batch_release(&b);
}

/* Gathered ids equal the ids, for any size and in any batch. */
static void
test_gathered(void)
{
	static const struct input in[] = {
		{ .kind = INPUT_ID, .rows = 9 },
		{ .kind = INPUT_ID, .rows = (uint64_t)1 << 40 },
		{ .kind = INPUT_ID, .hashed = true },
	};
	static const uint64_t ids[][3] = {
		{ 8, 5, UINT64_MAX }, { 0, (uint64_t)7 << 33, 0 },
		{ 8, 5, 12 }, { 3, 1, UINT64_MAX },
	};
	struct sorter sorter = { 0 };
	struct batch a, b;

	batch_begin(&a, in, 3, NULL);
	batch_begin(&b, in, 3, NULL);
	for (size_t i = 0; i < 3; i++) {
		struct feature *x = &a.feature[i];

		for (size_t e = 0; e < 4; e++)
			feature_add_id(x, e, ids[e][i]);
		feature_gather(x, 4, &sorter);
		memset(x->id, 0, 4 * sizeof(*x->id));	/* not looked at */
		ok(x->is_gathered && x->gathered.count == 3);
	}
	a.examples = 4;
	batch_append_run(&b, &a, 0, 4);
	batch_append_run(&b, &a, 1, 2);
	for (size_t i = 0; i < 3; i++) {
		struct feature *x = &a.feature[i], *y = &b.feature[i];
		size_t same = 0;

		for (size_t e = 0; e < 4; e++)
			same += feature_id(x, e) == ids[e][i];
		feature_spread(x, 0, 4);
		for (size_t e = 0; e < 4; e++)
			same += feature_id(x, e) == ids[e][i] &&
				feature_id(y, e) == ids[e][i];
		for (size_t e = 1; e < 3; e++)
			same += feature_id(y, 3 + e) == ids[e][i];
		ok(same == 10 && !x->is_gathered && !y->is_gathered);
	}
	feature_gather(&a.feature[0], 4, &sorter);
	batch_reset(&a);
	ok(!a.feature[0].is_gathered);
	sorter_release(&sorter);
	batch_release(&a);
	batch_release(&b);
}

int
main(void)
{
	test_width();
	test_append();
	test_run();
	test_expected();
	test_gathered();
	return tap_done();
}
