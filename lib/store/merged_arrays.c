#include "store/merged_arrays.h"

#include "base/mem.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "store/rows.h"

#include <stdlib.h>
#include <string.h>

/* An array of the checkpoint, and the merged array that it belongs to. */
struct piece {
	const struct checkpoint_entry *entry;
	char *variable;
	size_t first;			/* its first range of keys */
	bool hashed;
};

/* A variable with the name of a part, but without ids, is not a part. */
static struct piece
make_piece(const struct checkpoint *c, const struct checkpoint_entry *e)
{
	struct piece p = { .entry = e };
	struct rows_part part;

	p.hashed = rows_part(&part, e->variable) &&
		checkpoint_find(c, e->variable, CHECKPOINT_ID);
	p.first = p.hashed ? part.first : 0;
	p.variable = p.hashed ? disk_path("%.*s%s", (int)part.table,
					  e->variable, part.waits ?
					  "/waiting" : "") :
		mem_text(e->variable);
	return p;
}

static int
compare(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;
	int r = strcmp(a->variable, b->variable);

	if (r == 0)
		r = strcmp(a->entry->slot, b->entry->slot);
	if (r == 0)
		r = (a->first > b->first) - (a->first < b->first);
	return r;
}

/* Add a part to the last array, or to a new one. */
static int
add_piece(struct merged_arrays *w, struct piece *p, struct fail *f)
{
	const struct checkpoint_entry *e = p->entry;
	struct merged_array *a = w->count > 0 ? &w->array[w->count - 1] : NULL;

	if (!a || strcmp(a->variable, p->variable) != 0 ||
	    strcmp(a->slot, e->slot) != 0) {
		a = &w->array[w->count++];
		*a = (struct merged_array){
			.variable = p->variable, .slot = e->slot,
			.shape = e->shape, .hashed = p->hashed,
			.numbers = manifest_is_number(e->slot),
		};
		p->variable = NULL;
	} else if (a->hashed && p->hashed &&
		   shape_width(e->shape) == shape_width(a->shape)) {
		a->shape.dim[0] += shape_rows(e->shape);
	} else {
		return fail(f, FAIL_DATA, "%s: '%s' has two shapes",
			    checkpoint_path(w->checkpoint), a->variable);
	}
	a->part = mem_resize(a->part, a->parts + 1, sizeof(*a->part));
	a->part[a->parts++] = e;
	return 0;
}

static int
by_name(const void *left, const void *right)
{
	const struct merged_array *a = left, *b = right;
	const int r = strcmp(a->variable, b->variable);

	return r != 0 ? r : strcmp(a->slot, b->slot);
}

const struct merged_array *
merged_arrays_find(const struct merged_arrays *w, const char *variable,
		   const char *slot)
{
	const struct merged_array key = {
		.variable = (char *)(uintptr_t)variable, .slot = slot,
	};

	return bsearch(&key, w->array, w->count, sizeof(key), by_name);
}

/* Check that each slot of a hashed table has as many rows as the values: all
   parts must have the same slots. */
static int
check_rows(const struct merged_arrays *w, struct fail *f)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct merged_array *a = &w->array[i], *values;

		if (!a->hashed)
			continue;
		values = merged_arrays_find(w, a->variable, "");
		if (!values || shape_rows(values->shape) !=
		    shape_rows(a->shape))
			return fail(f, FAIL_DATA, "%s: '%s' has no %s for "
				    "each row", checkpoint_path(w->checkpoint),
				    a->variable, *a->slot ? a->slot :
				    "value");
	}
	return 0;
}

int
merged_arrays_open(struct merged_arrays *w, struct checkpoint *c,
		   struct fail *f)
{
	size_t count;
	const struct checkpoint_entry *e = checkpoint_entries(c, &count);
	struct piece *piece = mem_alloc(count, sizeof(*piece));
	int r = 0;

	*w = (struct merged_arrays){
		.checkpoint = c, .array = mem_alloc(count, sizeof(*w->array)),
	};
	for (size_t i = 0; i < count; i++)
		piece[i] = make_piece(c, &e[i]);
	qsort(piece, count, sizeof(*piece), compare);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_piece(w, &piece[i], f);
	for (size_t i = 0; i < count; i++)
		free(piece[i].variable);
	free(piece);
	return r == 0 ? check_rows(w, f) : -1;
}

void
merged_arrays_release(struct merged_arrays *w)
{
	for (size_t i = 0; i < w->count; i++) {
		free(w->array[i].variable);
		free(w->array[i].part);
	}
	free(w->array);
	*w = (struct merged_arrays){ 0 };
}

char *
merged_array_name(const struct merged_array *a)
{
	return disk_path("%s%s%s", a->variable, *a->slot ? "@" : "", a->slot);
}

static int
read_part(struct checkpoint *c, const struct checkpoint_entry *e,
	  struct rows rows, void *out, struct fail *f)
{
	if (manifest_is_number(e->slot))
		return checkpoint_numbers(c, e->variable, e->slot, rows, out,
					  f);
	return checkpoint_read(c, e->variable, e->slot, e->shape, rows, out,
			       NULL, f);
}

int
merged_arrays_read(const struct merged_arrays *w, const struct merged_array *a,
		   struct rows rows, void *out, struct fail *f)
{
	const size_t width = shape_width(a->shape) *
		(a->numbers ? sizeof(uint64_t) : sizeof(float));
	char *to = out;

	for (size_t i = 0; i < a->parts && rows.count > 0; i++) {
		const size_t here = shape_rows(a->part[i]->shape);
		struct rows now = rows;

		if (rows.first >= here) {
			rows.first -= here;
			continue;
		}
		if (now.count > here - now.first)
			now.count = here - now.first;
		if (read_part(w->checkpoint, a->part[i], now, to, f) < 0)
			return -1;
		to += now.count * width;
		rows.first = 0;
		rows.count -= now.count;
	}
	return 0;
}
