#include "store/convert.h"

#include "base/mem.h"
#include "store/arrays.h"
#include "store/whole.h"

#include <stdlib.h>
#include <string.h>

/* ---- out of a checkpoint ---- */

struct export {
	struct whole whole;
	const struct whole_array **array;
};

static int
read_rows(void *data, size_t i, struct rows rows, void *out, struct fail *f)
{
	const struct export *x = data;

	return whole_read(&x->whole, x->array[i], rows, out, f);
}

static int
write_arrays(struct export *x, size_t count, const char *path,
	     struct fail *f)
{
	struct arrays_item *item = mem_alloc(count, sizeof(*item));
	int r;

	for (size_t i = 0; i < count; i++)
		item[i] = (struct arrays_item){
			whole_name(x->array[i]), x->array[i]->shape,
			x->array[i]->numbers
		};
	r = arrays_write(path, &(struct arrays_source){
			 item, count, read_rows, x }, f);
	while (count > 0)
		free(item[--count].name);
	free(item);
	return r;
}

int
convert_export(struct checkpoint *c, const char *path, bool slots,
	       struct fail *f)
{
	struct export x = { 0 };
	size_t count = 0;
	int r = whole_open(&x.whole, c, f);

	x.array = mem_alloc(x.whole.count, sizeof(*x.array));
	for (size_t i = 0; i < x.whole.count; i++) {
		const struct whole_array *a = &x.whole.array[i];

		/* Rows are of no use without their ids. */
		if (*a->slot == '\0' || slots ||
		    strcmp(a->slot, CHECKPOINT_ID) == 0)
			x.array[count++] = a;
	}
	if (r == 0)
		r = write_arrays(&x, count, path, f);
	free(x.array);
	whole_release(&x.whole);
	return r;
}

static int
write_npy(const struct whole *w, const struct whole_array *a,
	  int (*add)(void *, const void *, size_t, struct fail *),
	  void *to, struct fail *f)
{
	const struct arrays_item item = { NULL, a->shape, a->numbers };
	struct export x = { *w, &a };
	char header[NPY_HEADER_MAX];
	const size_t head = a->numbers ? npy_header_numbers(a->shape, header) :
		npy_header(a->shape, header);

	if (add(to, header, head, f) < 0)
		return -1;
	return arrays_each(&(struct arrays_source){
			   &item, 1, read_rows, &x }, 0, add, to, f);
}

int
convert_array(struct checkpoint *c, const char *name,
	      int (*add)(void *, const void *, size_t, struct fail *),
	      void *to, struct fail *f)
{
	const size_t n = strcspn(name, "@");
	const char *slot = name[n] ? name + n + 1 : "";
	char *variable = mem_text_n(name, n);
	const struct checkpoint_entry *e = checkpoint_find(c, variable, slot);
	const struct whole_array part = {
		.shape = e ? e->shape : (struct shape){ 0 },
		.numbers = checkpoint_is_number(slot), .part = &e, .parts = 1,
	};
	struct whole w;
	int r = whole_open(&w, c, f);
	const struct whole_array *a = e ? &part :
		whole_find(&w, variable, slot);

	if (r == 0 && !a)
		r = fail(f, FAIL_DATA, "%s: holds no '%.200s'; see what it "
			 "holds by ps-ckpt show", checkpoint_path(c), name);
	if (r == 0)
		r = write_npy(&w, a, add, to, f);
	whole_release(&w);
	free(variable);
	return r;
}

/* ---- into one ---- */

/* A variable's values, or one of its slots. */
struct target {
	const struct variable *variable;
	const char *slot;
	float *values;
	bool given;
};

struct import {
	struct target *target;
	size_t count;
};

static void
make_targets(struct import *x, const struct variable *v, size_t n,
	     uint64_t seed)
{
	x->target = mem_alloc(n * (1 + OPTIMIZER_SLOTS), sizeof(*x->target));
	for (size_t i = 0; i < n; i++, v++) {
		const size_t size = shape_size(v->shape);
		struct target *t = &x->target[x->count];

		if (v->hashed)
			continue;	/* no rows to begin with */
		x->count++;

		*t = (struct target){ .variable = v, .slot = "" };
		t->values = mem_alloc(size, sizeof(float));
		initializer_fill(&v->initializer, v->name, v->shape, seed, 0,
				 t->values, size);
		for (size_t k = 0; v->optimizer && k < v->optimizer->slots;
		     k++) {
			t = &x->target[x->count++];
			*t = (struct target){
				.variable = v,
				.slot = v->optimizer->slot_name[k],
				.values = mem_alloc(size, sizeof(float)),
			};
			for (size_t j = 0; j < size; j++)
				t->values[j] = v->optimizer->slot_start[k];
		}
	}
}

static bool
is_named(const struct target *t, const char *name)
{
	const size_t n = strlen(t->variable->name);

	if (strncmp(name, t->variable->name, n) != 0)
		return false;
	return *t->slot ? name[n] == '@' && strcmp(name + n + 1, t->slot) == 0
			: name[n] == '\0';
}

static float *
place(void *data, const char *name, struct shape shape, struct fail *f)
{
	struct import *x = data;
	char here[SHAPE_TEXT], wanted[SHAPE_TEXT];

	for (size_t i = 0; i < x->count; i++) {
		struct target *t = &x->target[i];

		if (!is_named(t, name))
			continue;
		if (t->given) {
			fail(f, FAIL_DATA, "'%s' is there twice", name);
			return NULL;
		}
		if (!shape_equal(shape, t->variable->shape)) {
			fail(f, FAIL_DATA, "'%s' has shape %s, the model's "
			     "is %s", name, shape_text(shape, here),
			     shape_text(t->variable->shape, wanted));
			return NULL;
		}
		t->given = true;
		return t->values;
	}
	fail(f, FAIL_DATA, "'%.80s' is no variable of the model", name);
	return NULL;
}

static int
write_targets(const struct import *x, const struct model_source *source,
	      const char *dir, uint64_t seed, struct fail *f)
{
	struct checkpoint_array *array = mem_alloc(x->count, sizeof(*array));
	struct checkpoint_piece *piece = mem_alloc(x->count, sizeof(*piece));
	const struct checkpoint_info info = {
		.run = "00000000000000000000000000000000", .seed = seed,
	};
	struct checkpoint_part part;
	int r;

	for (size_t i = 0; i < x->count; i++) {
		const struct target *t = &x->target[i];
		const struct shape shape = t->variable->shape;

		piece[i] = (struct checkpoint_piece){
			t->values, shape_size(shape)
		};
		array[i] = (struct checkpoint_array){
			.variable = t->variable->name, .slot = t->slot,
			.shape = shape, .rows = { 0, shape_rows(shape) },
			.piece = &piece[i], .pieces = 1,
		};
	}
	r = checkpoint_write_part(dir, CONVERT_NAME, 0, 1, array, x->count,
				  &part, f);
	if (r == 0)
		r = checkpoint_publish(dir, CONVERT_NAME, &info, source,
				       &part, 1, f);
	free(piece);
	free(array);
	return r;
}

static void
tell_missing(const struct import *x, const char *values, uint64_t seed,
	     void (*warn)(const char *))
{
	for (size_t i = 0; i < x->count; i++) {
		const struct target *t = &x->target[i];
		char *text;

		if (*t->slot || t->given)
			continue;
		text = disk_path("%s: not in %s; has the initial values of "
				 "seed %ju", t->variable->name, values,
				 (uintmax_t)seed);
		warn(text);
		free(text);
	}
}

int
convert_import(const struct model_source *source, const char *values,
	       const char *dir, uint64_t seed, void (*warn)(const char *),
	       struct fail *f)
{
	struct model *model = model_parse(source, f);
	struct import x = { 0 };
	const struct variable *v;
	size_t n;
	int r;

	if (!model)
		return -1;
	v = model_variables(model, &n);
	make_targets(&x, v, n, seed);
	r = arrays_read(values, &(struct arrays_sink){ place, &x }, f);
	if (r == 0)
		tell_missing(&x, values, seed, warn);
	if (r == 0)
		r = write_targets(&x, source, dir, seed, f);
	while (x.count > 0)
		free(x.target[--x.count].values);
	free(x.target);
	model_free(model);
	return r;
}
