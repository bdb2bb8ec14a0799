#include "store/describe.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/visible_text.h"
#include "store/compare.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "store/rows.h"
#include "tensor/kernels.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
add_json(json_t *object, struct text *out)
{
	char *text = json_line(object, JSON_PRESERVE_ORDER);

	if (!text)
		abort();
	text_add(out, "%s\n", text);
	free(text);
	json_decref(object);
}

/* Append text from a file, which may contain anything. */
static void
add_words(struct text *out, const char *key, const char *words)
{
	text_add(out, "%s\t", key);
	visible_add(out, words, strlen(words));
	text_add(out, "\n");
}

static json_t *
line_json(const struct checkpoint *c, const char *name)
{
	const struct checkpoint_info *info = checkpoint_info(c);

	return json_pack("{s:o, s:I, s:s, s:I, s:b}", "name",
			 json_words(name), "step", (json_int_t)info->step,
			 "time", info->time, "size",
			 (json_int_t)checkpoint_size(c), "final",
			 (int)info->final);
}

static void
add_line(const struct checkpoint *c, const char *name, bool json,
	 struct text *out)
{
	const struct checkpoint_info *info = checkpoint_info(c);

	if (json)
		add_json(line_json(c, name), out);
	else
		text_add(out, "%s\t%ju\t%s\t%ju\t%s\n", name,
			 (uintmax_t)info->step, info->time,
			 (uintmax_t)checkpoint_size(c),
			 info->final ? "final" : "-");
}

static void
add_damaged(const char *name, uint64_t step, bool json, struct text *out)
{
	if (json)
		add_json(json_pack("{s:s, s:I, s:b}", "name", name, "step",
				   (json_int_t)step, "damaged", 1), out);
	else
		text_add(out, "%s\t%ju\t-\t-\tdamaged\n", name,
			 (uintmax_t)step);
}

/* A checkpoint that is pruned meanwhile is left out. */
int
describe_folder(const char *dir, bool json, void (*warn)(const char *),
		struct text *out, struct fail *f)
{
	struct checkpoint_list list;
	struct fail why;
	int r = 0;

	if (checkpoint_list(&list, dir, f) < 0)
		return -1;
	for (size_t i = 0; i < list.count && r == 0; i++) {
		char *path = disk_path("%s/%s", dir, list.name[i]);
		struct checkpoint *c = checkpoint_open(path, false, &why);

		if (c) {
			add_line(c, list.name[i], json, out);
		} else if (why.kind == FAIL_AGAIN) {
			*f = why;
			r = -1;
		} else if (disk_is_there(path)) {
			warn(why.text);
			add_damaged(list.name[i], list.step[i], json, out);
		}
		checkpoint_close(c);
		free(path);
	}
	checkpoint_list_free(&list);
	return r;
}

static void
add_difference(const struct compare_item *x, struct text *out)
{
	static const char *const where[] = { "first", "second" };

	if (x->mismatch)
		text_add(out, "%s\t%s", x->name, x->mismatch);
	else
		text_add(out, "%s\t%.9g\t%.9g", x->name, x->largest, x->rms);
	for (size_t i = 0; i < 2; i++)
		if (x->only[i] > 0)
			text_add(out, "\t%ju %s only in the %s",
				 (uintmax_t)x->only[i],
				 x->only[i] == 1 ? "row" : "rows", where[i]);
	text_add(out, "\n");
}

int
describe_difference(struct checkpoint *a, struct checkpoint *b, bool slots,
		    double tolerance, struct text *out, struct fail *f)
{
	struct compare_item *item;
	int status = 0;
	size_t n;

	item = compare_checkpoints(a, b, slots, &n, f);
	if (!item)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct compare_item *x = &item[i];

		add_difference(x, out);
		if (x->mismatch || x->largest > tolerance || x->only[0] > 0 ||
		    x->only[1] > 0)
			status = 1;
	}
	compare_free(item, n);
	return status;
}

#define BLOCK	((size_t)1 << 18)	/* numbers at a time, at least a row */

/* Find the largest absolute value of an array, or NaN: see kernel_largest(). */
static int
find_largest(struct checkpoint *c, const struct checkpoint_entry *e,
	     float *largest, struct fail *f)
{
	const size_t width = shape_width(e->shape);
	const size_t most = width < BLOCK ? BLOCK / width : 1;
	struct rows rows = { 0, shape_rows(e->shape) };
	size_t left = rows.count;
	float *x, found;
	int r = 0;

	*largest = 0;
	if (rows.count > most)
		rows.count = most;
	x = mem_alloc(rows.count * width, sizeof(*x));
	for (; r == 0 && left > 0; rows.first += rows.count) {
		if (rows.count > left)
			rows.count = left;
		left -= rows.count;
		r = checkpoint_read(c, e->variable, e->slot, e->shape, rows,
				    x, NULL, f);
		found = r == 0 ? kernel_largest(x, rows.count * width) : 0;
		if (found > *largest || isnan(found))
			*largest = found;
		if (isnan(found))
			break;
	}
	free(x);
	return r;
}

int
describe_unsound(struct checkpoint *c, void (*say)(const char *format, ...),
		 struct fail *f)
{
	const struct checkpoint_entry *e;
	struct rows_part part;
	int unsound = 0, length;
	float largest;
	size_t n;

	e = checkpoint_entries(c, &n);
	for (size_t i = 0; i < n; i++, e++) {
		if (manifest_is_number(e->slot))
			continue;
		if (find_largest(c, e, &largest, f) < 0)
			return -1;
		if (checkpoint_sound(e->slot, largest))
			continue;
		length = (int)(rows_part(&part, e->variable) ? part.table :
			       strlen(e->variable));
		say("%s: %.*s%s%s has numbers that are not finite",
		    checkpoint_path(c), length, e->variable,
		    *e->slot ? "@" : "", e->slot);
		unsound++;
	}
	return unsound;
}

static json_t *
entry_json(const struct checkpoint_entry *e)
{
	json_t *shape = json_array();

	for (int i = 0; i < e->shape.rank; i++)
		json_array_append_new(shape, json_integer(
				      (json_int_t)e->shape.dim[i]));
	return json_pack("{s:s, s:s, s:o, s:I, s:I}", "variable", e->variable,
			 "slot", e->slot, "shape", shape, "shards",
			 (json_int_t)e->shards, "updates",
			 (json_int_t)e->updates);
}

static void
describe_json(const struct checkpoint *c, const char *model, struct text *out)
{
	const struct checkpoint_info *info = checkpoint_info(c);
	json_t *o = line_json(c, checkpoint_folder(c));
	const struct model_source *source = checkpoint_model(c);
	json_t *list = json_array(), *values = json_object();
	const struct checkpoint_entry *e;
	char seed[24];
	size_t n;

	/* Many readers of JSON round integers above 2^53: use a string. */
	snprintf(seed, sizeof(seed), "%ju", (uintmax_t)info->seed);
	e = checkpoint_entries(c, &n);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, entry_json(&e[i]));
	json_object_set_new(o, "run", json_string(info->run));
	json_object_set_new(o, "seed", json_string(seed));
	json_object_set_new(o, "examples",
			    json_integer((json_int_t)info->examples));
	json_object_set_new(o, "seconds", json_real(info->seconds));
	json_object_set_new(o, "model", json_words(model));
	for (size_t i = 0; i < source->values; i++)
		json_object_set_new(values, source->value[i].name,
				    json_words(source->value[i].value));
	if (source->values > 0)
		json_object_set(o, "definitions", values);
	json_decref(values);
	json_object_set_new(o, "arrays", list);
	add_json(o, out);
}

static void
add_definition(struct text *out, const struct model_value *v)
{
	text_add(out, "definition\t%s\t", v->name);
	visible_add(out, v->value, strlen(v->value));
	text_add(out, "\n");
}

void
describe_checkpoint(const struct checkpoint *c, bool json, struct text *out)
{
	const struct checkpoint_info *info = checkpoint_info(c);
	const struct model_source *source = checkpoint_model(c);
	const char *model = source->count > 0 ? source->file[0].name : "-";
	const struct checkpoint_entry *e;
	char shape[SHAPE_TEXT];
	size_t n;

	if (json) {
		describe_json(c, model, out);
		return;
	}
	add_words(out, "checkpoint", checkpoint_folder(c));
	text_add(out, "step\t%ju%s\n", (uintmax_t)info->step,
		 info->final ? ", final" : "");
	add_words(out, "time", info->time);
	add_words(out, "run", info->run);
	text_add(out, "seed\t%ju\nexamples\t%ju\nseconds\t%.3f\nsize\t%ju\n",
		 (uintmax_t)info->seed, (uintmax_t)info->examples,
		 info->seconds, (uintmax_t)checkpoint_size(c));
	add_words(out, "model", model);
	for (size_t i = 0; i < source->values; i++)
		add_definition(out, &source->value[i]);
	e = checkpoint_entries(c, &n);
	for (size_t i = 0; i < n; i++, e++)
		text_add(out, "array\t%s%s%s\t%s\t%zu %s\t%ju %s\n",
			 e->variable, *e->slot ? "@" : "", e->slot,
			 shape_text(e->shape, shape), e->shards,
			 e->shards == 1 ? "shard" : "shards",
			 (uintmax_t)e->updates,
			 e->updates == 1 ? "update" : "updates");
}
