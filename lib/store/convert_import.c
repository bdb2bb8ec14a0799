#include "store/convert.h"

#include "base/hash.h"
#include "base/mem.h"
#include "store/arrays.h"
#include "store/rows.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most updates: servers keep a count for each update, see table.c. */
#define UPDATES	((uint64_t)1 << 32)

/* The values of a group, or one of its slots. */
struct target {
	const char *slot;
	bool integers;
	void *values;		/* NULL: a hashed table's, not given yet */
	size_t rows;
	bool given;		/* the file has it */
};

/*
 * A variable and its slots, which have the same rows.  A hashed table has a row
 * for each id in the file; its ids that wait for a row are another group.
 */
struct group {
	const struct variable *variable;
	char *name;			/* of the values in the file */
	bool waits;			/* the group of waiting ids */
	size_t rows, width;
	uint64_t updates;
	uint64_t counts[CONVERT_COUNTS];	/* of the file, if counted */
	bool counted;
	struct target target[3 + OPTIMIZER_SLOTS];
	size_t targets;
};

struct import {
	struct group *group;
	size_t count;
};

/* ---- the arrays of the model ---- */

static size_t
target_bytes(const struct group *g, const struct target *t)
{
	return t->integers ? sizeof(uint64_t) : g->width * sizeof(float);
}

static float *
first_slots(const struct group *g, size_t slot)
{
	const size_t size = g->rows * g->width;
	float *values = mem_alloc(size, sizeof(*values));

	for (size_t i = 0; i < size; i++)
		values[i] = g->variable->optimizer->slot_start[slot];
	return values;
}

static float *
first_values(const struct variable *v, uint64_t seed)
{
	const size_t size = shape_size(v->shape);
	float *values = mem_alloc(size, sizeof(*values));

	initializer_fill(&v->initializer, v->name, v->shape, seed, 0, values,
			 size);
	return values;
}

static struct group *
add_group(struct import *x, const struct variable *v, bool waits)
{
	const size_t slots = v->optimizer && !waits ? v->optimizer->slots : 0;
	struct group *g = &x->group[x->count++];

	*g = (struct group){
		.variable = v, .waits = waits, .targets = 1 + slots,
		.name = disk_path("%s%s", v->name, waits ? "/waiting" : ""),
		.rows = v->hashed ? 0 : shape_rows(v->shape),
		.width = waits ? 1 : shape_width(v->shape),
	};
	g->target[0] = (struct target){ .slot = "" };
	for (size_t i = 0; i < slots; i++)
		g->target[1 + i].slot = v->optimizer->slot_name[i];
	if (!v->hashed)
		return g;
	g->target[g->targets++] = (struct target){
		.slot = CHECKPOINT_ID, .integers = true };
	g->target[g->targets++] = (struct target){
		.slot = CHECKPOINT_UPDATE, .integers = true };
	return g;
}

static void
make_groups(struct import *x, const struct variable *v, size_t n,
	    uint64_t seed)
{
	x->group = mem_alloc(2 * n, sizeof(*x->group));
	for (size_t i = 0; i < n; i++, v++) {
		struct group *g = add_group(x, v, false);

		if (v->hashed && v->admit > 1)
			add_group(x, v, true);
		if (v->hashed)
			continue;	/* it has no initial rows */
		g->target[0].values = first_values(v, seed);
		for (size_t s = 1; s < g->targets; s++)
			g->target[s].values = first_slots(g, s - 1);
	}
}

static void
import_release(struct import *x)
{
	for (size_t i = 0; i < x->count; i++) {
		struct group *g = &x->group[i];

		for (size_t k = 0; k < g->targets; k++)
			free(g->target[k].values);
		free(g->name);
	}
	free(x->group);
}

static struct target *
find_target(struct group *g, const char *slot)
{
	for (size_t i = 0; i < g->targets; i++)
		if (strcmp(g->target[i].slot, slot) == 0)
			return &g->target[i];
	return NULL;
}

/* ---- the arrays of the file ---- */

static int
check_hashed(const struct group *g, const struct target *t, const char *name,
	     const struct npy *npy, struct fail *f)
{
	char here[SHAPE_TEXT];

	if (t->integers && npy->kind != 'i' && npy->kind != 'u')
		return fail(f, FAIL_DATA, "'%s' holds no integers", name);
	if (t->integers && npy->shape.rank != 1)
		return fail(f, FAIL_DATA, "'%s' has shape %s, one integer for "
			    "each row is wanted", name,
			    shape_text(npy->shape, here));
	if (!t->integers && (npy->shape.rank != 2 ||
			     npy->shape.dim[1] != g->width))
		return fail(f, FAIL_DATA, "'%s' has shape %s, rows of %zu %s "
			    "are wanted", name, shape_text(npy->shape, here),
			    g->width, g->width == 1 ? "number" : "numbers");
	return 0;
}

static int
check_shape(const struct group *g, const struct target *t, const char *name,
	    const struct npy *npy, struct fail *f)
{
	char here[SHAPE_TEXT], wanted[SHAPE_TEXT];

	if (t->given)
		return fail(f, FAIL_DATA, "'%s' is there twice", name);
	if (g->variable->hashed)
		return check_hashed(g, t, name, npy, f);
	if (!shape_equal(npy->shape, g->variable->shape))
		return fail(f, FAIL_DATA, "'%s' has shape %s, the model's "
			    "is %s", name, shape_text(npy->shape, here),
			    shape_text(g->variable->shape, wanted));
	return 0;
}

static void *
counts_for(struct group *g, const char *name, const struct npy *npy,
	   bool *integers, struct fail *f)
{
	if (g->counted) {
		fail(f, FAIL_DATA, "'%s' is there twice", name);
		return NULL;
	}
	if ((npy->kind != 'i' && npy->kind != 'u') || npy->shape.rank != 1 ||
	    npy->shape.dim[0] != CONVERT_COUNTS) {
		fail(f, FAIL_DATA, "'%s' is not %d integers", name,
		     CONVERT_COUNTS);
		return NULL;
	}
	g->counted = *integers = true;
	return g->counts;
}

static void *
values_for(void *data, const char *name, const struct npy *npy, bool *integers,
	   struct fail *f)
{
	struct import *x = data;
	const size_t n = strcspn(name, "@");

	for (size_t i = 0; i < x->count; i++) {
		struct group *g = &x->group[i];
		struct target *t;

		if (strlen(g->name) != n || strncmp(name, g->name, n) != 0)
			continue;
		if (!g->waits && strcmp(name + n, "@" CONVERT_UPDATES) == 0)
			return counts_for(g, name, npy, integers, f);
		t = find_target(g, name[n] ? name + n + 1 : "");
		if (!t)
			continue;
		if (check_shape(g, t, name, npy, f) < 0)
			return NULL;
		t->given = true;
		t->rows = shape_rows(npy->shape);
		if (g->variable->hashed)
			t->values = mem_alloc(t->rows, target_bytes(g, t));
		*integers = t->integers;
		return t->values;
	}
	fail(f, FAIL_DATA, "'%.80s' is not a variable of the model", name);
	return NULL;
}

/* ---- rows of hashed tables ---- */

/* Check that a table has its values and ids, make its other arrays if they are
   missing, and check that all have the same number of rows. */
static int
complete_group(struct group *g, struct fail *f)
{
	const struct target *ids = find_target(g, CHECKPOINT_ID);
	const struct target *given = NULL;

	for (size_t i = 0; i < g->targets; i++)
		if (g->target[i].given)
			given = &g->target[i];
	if (!given)
		return 0;
	if (!ids->given || !g->target[0].given)
		return fail(f, FAIL_DATA, "'%s%s%s' is there, but '%s%s' is "
			    "not",
			    g->name, *given->slot ? "@" : "", given->slot,
			    g->name, ids->given ? "" : "@" CHECKPOINT_ID);
	g->rows = ids->rows;
	for (size_t i = 0; i < g->targets; i++) {
		struct target *t = &g->target[i];

		if (!t->given)
			t->values = !t->integers ? first_slots(g, i - 1) :
				mem_alloc(g->rows, sizeof(uint64_t));
		else if (t->rows != g->rows)
			return fail(f, FAIL_DATA, "'%s%s%s' has %zu rows, "
				    "'%s@" CHECKPOINT_ID "' has %zu", g->name,
				    *t->slot ? "@" : "", t->slot, t->rows,
				    g->name, g->rows);
	}
	return 0;
}

static int
count_updates(struct group *g, struct fail *f)
{
	const uint64_t *update = find_target(g, CHECKPOINT_UPDATE)->values;

	for (size_t i = 0; i < g->rows; i++) {
		if (update[i] >= UPDATES)
			return fail(f, FAIL_DATA, "'%s@" CHECKPOINT_UPDATE
				    "': row %zu: update %ju is not possible",
				    g->name, i, (uintmax_t)update[i]);
		if (g->updates < update[i])
			g->updates = update[i];
	}
	return 0;
}

/* The values of waiting ids are numbers of pushes: check them. */
static int
check_counts(const struct group *g, struct fail *f)
{
	const float *count = g->target[0].values;

	for (size_t i = 0; g->waits && i < g->rows; i++)
		if (!(count[i] >= 0 && isfinite(count[i])))
			return fail(f, FAIL_DATA, "'%s': row %zu: %g is not a "
				    "count", g->name, i, (double)count[i]);
	return 0;
}

struct order {
	uint64_t key;
	size_t row;
};

static int
by_key(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static void
reorder(const struct group *g, struct target *t, const struct order *order)
{
	const size_t bytes = target_bytes(g, t);
	char *to = mem_alloc(g->rows, bytes);
	const char *from = t->values;

	for (size_t i = 0; i < g->rows; i++)
		memcpy(to + i * bytes, from + order[i].row * bytes, bytes);
	free(t->values);
	t->values = to;
}

/* Sort rows as servers write them, in the order of keys; refuse an id that is
   there twice. */
static int
sort_rows(struct group *g, struct fail *f)
{
	const uint64_t *id = find_target(g, CHECKPOINT_ID)->values;
	struct order *order = mem_alloc(g->rows, sizeof(*order));
	int r = 0;

	for (size_t i = 0; i < g->rows; i++)
		order[i] = (struct order){ hash_mix(id[i]), i };
	qsort(order, g->rows, sizeof(*order), by_key);
	for (size_t i = 1; r == 0 && i < g->rows; i++)
		if (order[i].key == order[i - 1].key)
			r = fail(f, FAIL_DATA, "'%s@" CHECKPOINT_ID "': rows "
				 "%zu and %zu have the same id", g->name,
				 order[i - 1].row, order[i].row);
	for (size_t i = 0; r == 0 && i < g->targets; i++)
		reorder(g, &g->target[i], order);
	free(order);
	return r;
}

static int
complete_tables(struct import *x, const char *path, struct fail *f)
{
	for (size_t i = 0; i < x->count; i++) {
		struct group *g = &x->group[i];

		if (g->variable->hashed &&
		    (complete_group(g, f) < 0 || count_updates(g, f) < 0 ||
		     check_counts(g, f) < 0 || sort_rows(g, f) < 0))
			return fail_at(f, "%s", path);
	}
	return 0;
}

/* Has the file any slot of the optimizer?  Yes, if the optimizer has none, or
   if a table has no row that could have one. */
static bool
has_slots(const struct group *g)
{
	const struct optimizer *o = g->variable->optimizer;
	const size_t slots = o ? o->slots : 0;
	bool given = slots == 0 || g->rows == 0;

	for (size_t i = 0; i < slots; i++)
		given = given || g->target[1 + i].given;
	return given;
}

/* Give the ids that wait for a row the counts of their table: a server reads
   them from any of its arrays. */
static void
share_counts(struct group *g, struct group *waiting)
{
	if (waiting->updates < g->updates)
		waiting->updates = g->updates;
	memcpy(waiting->counts, g->counts, sizeof(g->counts));
}

/* Take the counts of the file: they continue if the file has the slots, and
   begin again if the slots do. */
static int
apply_counts(struct import *x, const char *path, struct fail *f)
{
	for (size_t i = 0; i < x->count; i++) {
		struct group *g = &x->group[i];

		if (!g->counted)
			continue;
		if (g->counts[0] >= UPDATES || g->counts[1] > g->counts[0])
			return fail(f, FAIL_DATA, "%s: '%s@" CONVERT_UPDATES
				    "': %ju updates, of which %ju are older "
				    "than the slots, cannot be", path, g->name,
				    (uintmax_t)g->counts[0],
				    (uintmax_t)g->counts[1]);
		if (g->updates < g->counts[0])
			g->updates = g->counts[0];
		if (!has_slots(g)) {
			g->counts[1] = g->updates;
			g->counts[2] = 0;
		}
		if (i + 1 < x->count && x->group[i + 1].waits)
			share_counts(g, &x->group[i + 1]);
	}
	return 0;
}

/* Refuse numbers that no checkpoint may have: training could not recover from
   them, and a later message would not name the file. */
static int
check_finite(const struct import *x, const char *path, struct fail *f)
{
	for (size_t i = 0; i < x->count; i++) {
		const struct group *g = &x->group[i];

		for (size_t k = 0; k < g->targets; k++) {
			const struct target *t = &g->target[k];

			if (t->given && !t->integers &&
			    !checkpoint_sound(t->slot, kernel_largest(
					t->values, t->rows * g->width)))
				return fail(f, FAIL_DATA, "%s: '%s%s%s' has "
					    "numbers that are not finite, or "
					    "too large for a float", path,
					    g->name, *t->slot ? "@" : "",
					    t->slot);
		}
	}
	return 0;
}

/* ---- the checkpoint ---- */

static size_t
describe_arrays(const struct group *g, char *name,
		struct checkpoint_array *array, struct checkpoint_piece *piece)
{
	const struct variable *v = g->variable;

	for (size_t i = 0; i < g->targets; i++) {
		const struct target *t = &g->target[i];
		const struct shape rows = { t->integers ? 1 : 2,
					    { g->rows, g->width } };

		array[i] = (struct checkpoint_array){
			.variable = name, .slot = t->slot,
			.shape = v->hashed ? rows : v->shape,
			.rows = { 0, g->rows }, .updates = g->updates,
			.since = g->counts[1], .begun = 0 - g->counts[2],
		};
		if (t->integers) {
			array[i].number = t->values;
			continue;
		}
		piece[i] = (struct checkpoint_piece){
			t->values, g->rows * g->width
		};
		array[i].piece = &piece[i];
		array[i].pieces = 1;
	}
	return g->targets;
}

static int
publish(const struct checkpoint_array *array, size_t count,
	const struct model_source *source, const char *dir, uint64_t seed,
	struct fail *f)
{
	const struct checkpoint_info info = {
		.run = "00000000000000000000000000000000", .seed = seed,
	};
	struct checkpoint_part part;
	struct fail ignored;
	char *half;

	if (checkpoint_write_part(dir, CONVERT_NAME, 0, 1, array, count,
				  &part, f) == 0 &&
	    checkpoint_publish(dir, CONVERT_NAME, &info, source, &part, 1,
			       f) == 0)
		return 0;
	half = disk_path("%s/" DISK_TEMP CONVERT_NAME, dir);
	disk_remove_folder(half, &ignored);
	free(half);
	return -1;
}

static int
write_groups(const struct import *x, const struct model_source *source,
	     const char *dir, uint64_t seed, struct fail *f)
{
	const struct rows all = { 0, HASHED_RANGES };
	const size_t room = x->count * (3 + OPTIMIZER_SLOTS);
	struct checkpoint_array *array = mem_alloc(room, sizeof(*array));
	struct checkpoint_piece *piece = mem_alloc(room, sizeof(*piece));
	char **name = mem_alloc(x->count, sizeof(*name));
	size_t count = 0;
	int r;

	for (size_t i = 0; i < x->count; i++) {
		const struct group *g = &x->group[i];
		const struct variable *v = g->variable;

		name[i] = v->hashed ? rows_part_name(v->name, g->waits, all) :
			mem_text(v->name);
		if (g->rows > 0)
			count += describe_arrays(g, name[i], array + count,
						 piece + count);
	}
	r = publish(array, count, source, dir, seed, f);
	for (size_t i = 0; i < x->count; i++)
		free(name[i]);
	free(name);
	free(piece);
	free(array);
	return r;
}

static void
warn_of_missing(const struct import *x, const char *values, uint64_t seed,
		void (*warn)(const char *))
{
	for (size_t i = 0; i < x->count; i++) {
		const struct group *g = &x->group[i];
		char *text;

		if (g->target[0].given || g->waits)
			continue;
		text = g->variable->hashed ?
			disk_path("%s: not in %s; has no rows yet", g->name,
				  values) :
			disk_path("%s: not in %s; has the initial values of "
				  "seed %ju", g->name, values,
				  (uintmax_t)seed);
		warn(text);
		free(text);
	}
}

/* Warn of checkpoints of later steps: a run would resume from those. */
static void
warn_of_later(const char *dir, void (*warn)(const char *))
{
	struct checkpoint_list list;
	struct fail ignored;
	char *text;

	if (checkpoint_list(&list, dir, &ignored) < 0)
		return;
	if (list.count > 0 && list.step[list.count - 1] > 0) {
		text = disk_path("%s has checkpoints of later steps, up to %s",
				 dir, list.name[list.count - 1]);
		warn(text);
		free(text);
	}
	checkpoint_list_free(&list);
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
	make_groups(&x, v, n, seed);
	r = arrays_read(values, &(struct arrays_sink){ values_for, &x }, f);
	if (r == 0)
		r = complete_tables(&x, values, f);
	if (r == 0)
		r = apply_counts(&x, values, f);
	if (r == 0)
		r = check_finite(&x, values, f);
	if (r == 0)
		warn_of_missing(&x, values, seed, warn);
	if (r == 0)
		r = checkpoint_probe(dir, f);
	if (r == 0)
		r = write_groups(&x, source, dir, seed, f);
	if (r == 0)
		warn_of_later(dir, warn);
	import_release(&x);
	model_free(model);
	return r;
}
