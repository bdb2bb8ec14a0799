#include "store/rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "store/disk.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	((size_t)1 << 12)	/* rows read at once */

static const char *const keys = "keys", *const waiting = "waiting";

char *
rows_part_name(const char *table, bool waits, struct rows ranges)
{
	return disk_path("%s/%s-%zu-%zu", table, waits ? waiting : keys,
			 ranges.first, ranges.first + ranges.count - 1);
}

/* Parse "KIND-FIRST-LAST", and keep the first number. */
static bool
parse_range(const char *at, const char *kind, size_t *first)
{
	const size_t n = strlen(kind);
	char *end;

	if (strncmp(at, kind, n) != 0 || at[n] != '-' ||
	    !isdigit((unsigned char)at[n + 1]))
		return false;
	*first = (size_t)strtoull(at + n + 1, &end, 10);
	if (*end != '-' || !isdigit((unsigned char)end[1]))
		return false;
	strtoull(end + 1, &end, 10);
	return *end == '\0';
}

bool
rows_part(struct rows_part *part, const char *name)
{
	const char *slash = strrchr(name, '/');

	if (!slash)
		return false;
	part->table = (size_t)(slash - name);
	part->waits = parse_range(slash + 1, waiting, &part->first);
	return part->waits || parse_range(slash + 1, keys, &part->first);
}

static size_t
add_arrays(const struct variable *v, const struct table *t, bool waits,
	   struct rows ranges, uint64_t updates, struct checkpoint_array *to)
{
	const size_t width = waits ? 1 : shape_width(v->shape);
	const size_t slots = v->optimizer && !waits ? v->optimizer->slots : 0;
	const size_t rows = (size_t)table_rows(t);
	const size_t arrays = rows > 0 ? 3 + slots : !waits && updates > 0;
	struct checkpoint_array *a = to;

	for (size_t i = 0; i < arrays; i++, a++) {
		const bool numbers = i > slots;

		*a = (struct checkpoint_array){
			.variable = rows_part_name(v->name, waits, ranges),
			.slot = i == 0 ? "" : i <= slots ?
				v->optimizer->slot_name[i - 1] :
				i == slots + 1 ? CHECKPOINT_ID :
				CHECKPOINT_UPDATE,
			.shape = { numbers ? 1 : 2, { rows, width } },
			.rows = { 0, rows },
			.updates = updates, .table = t,
			.column = i * width,
		};
	}
	return (size_t)(a - to);
}

size_t
rows_arrays(const struct variable *v, const struct table *t,
	    struct rows ranges, uint64_t updates, struct checkpoint_array *to)
{
	const size_t n = add_arrays(v, t, false, ranges, updates, to);

	return n + (table_waiting(t) ? add_arrays(v, table_waiting(t), true,
						  ranges, updates, to + n) :
		    0);
}

/* ---- reading ---- */

struct part {
	struct checkpoint *from;
	const struct checkpoint_entry *entry;	/* of the values */
	const struct variable *variable;
	bool waits, slots;
};

/* Read the values and slots of some rows, so that those of each row are
   adjacent, as a table has them. */
static int
read_floats(const struct part *p, struct rows rows, float *row,
	    size_t floats, struct fail *f)
{
	const struct checkpoint_entry *e = p->entry;
	const struct optimizer *o = p->waits ? NULL : p->variable->optimizer;
	const size_t width = shape_width(e->shape);
	float *block = mem_alloc(rows.count * width, sizeof(*block));
	int r = 0;

	for (size_t s = 0; r == 0 && s < floats / width; s++) {
		const char *slot = s == 0 ? "" : o->slot_name[s - 1];
		const bool there = (s == 0 || p->slots) &&
			checkpoint_find(p->from, e->variable, slot);

		for (size_t i = 0; !there && i < rows.count * width; i++)
			block[i] = o->slot_start[s - 1];
		if (there)
			r = checkpoint_read(p->from, e->variable, slot,
					    e->shape, rows, block, NULL, f);
		for (size_t i = 0; i < rows.count; i++)
			memcpy(row + i * floats + s * width,
			       block + i * width, width * sizeof(*block));
	}
	free(block);
	return r;
}

static int
put_block(const struct part *p, struct table *t, struct rows rows,
	  struct rows ranges, struct fail *f)
{
	const size_t floats = table_floats(t);
	const uint64_t first = hashed_first(ranges.first);
	const uint64_t last = first + hashed_first(ranges.count) - 1;
	uint64_t *id = mem_alloc(rows.count, sizeof(*id));
	uint64_t *update = mem_alloc(rows.count, sizeof(*update));
	float *row = mem_alloc(rows.count * floats, sizeof(*row));
	int r = checkpoint_numbers(p->from, p->entry->variable,
				   CHECKPOINT_ID, rows, id, f);

	if (r == 0)
		r = checkpoint_numbers(p->from, p->entry->variable,
				       CHECKPOINT_UPDATE, rows, update, f);
	if (r == 0)
		r = read_floats(p, rows, row, floats, f);
	for (size_t i = 0; r == 0 && i < rows.count; i++) {
		const uint64_t key = hash_mix(id[i]);

		if (p->waits && !(row[i] >= 0))
			r = fail(f, FAIL_DATA, "%s: '%s': row %ju: %g is not a "
				 "count", checkpoint_path(p->from),
				 p->entry->variable,
				 (uintmax_t)(rows.first + i), (double)row[i]);
		else if (key >= first && key <= last)
			table_put(t, key, row + i * floats, update[i]);
	}
	free(row);
	free(update);
	free(id);
	return r;
}

static int
put_part(const struct part *p, struct table *t, struct rows ranges,
	 struct fail *f)
{
	const struct shape shape = p->entry->shape;
	const size_t rows = shape_rows(shape);
	const size_t width = p->waits ? 1 : shape_width(p->variable->shape);
	int r = 0;

	if (shape.rank != 2 || shape.dim[1] != width)
		return fail(f, FAIL_DATA, "%s: '%s' has rows of %zu numbers, "
			    "not %zu", checkpoint_path(p->from),
			    p->entry->variable, shape_width(shape), width);
	for (size_t at = 0; r == 0 && at < rows; at += BLOCK)
		r = put_block(p, t, (struct rows){ at, rows - at < BLOCK ?
						   rows - at : BLOCK },
			      ranges, f);
	return r;
}

/* Is an entry the values of a part of this variable? */
static bool
is_part(const struct checkpoint_entry *e, const struct variable *v,
	bool *waits)
{
	struct rows_part part;

	if (*e->slot || !rows_part(&part, e->variable) ||
	    strncmp(e->variable, v->name, part.table) != 0)
		return false;
	*waits = part.waits;
	return v->name[part.table] == '\0';
}

static void
add_counts(struct checkpoint_counts *c, const struct variable *v,
	   const struct checkpoint_entry *e, size_t count)
{
	bool ignored;

	for (size_t i = 0; i < count; i++) {
		if (v->hashed ? !is_part(&e[i], v, &ignored) :
		    strcmp(e[i].variable, v->name) != 0)
			continue;
		if (e[i].updates > c->updates)
			c->updates = e[i].updates;
		if (e[i].since > c->since)
			c->since = e[i].since;
		c->begun = e[i].begun;
	}
}

struct checkpoint_counts
rows_counts(const struct checkpoint *from, const struct variable *v)
{
	struct checkpoint_counts c = { 0 };
	const struct checkpoint_entry *e;
	size_t count;

	e = checkpoint_entries(from, &count);
	add_counts(&c, v, e, count);
	e = checkpoint_empty(from, &count);
	add_counts(&c, v, e, count);
	return c;
}

int
rows_restore(struct checkpoint *from, const struct variable *v,
	     struct table *t, struct rows ranges, bool slots,
	     uint64_t *updates, struct fail *f)
{
	size_t count;
	const struct checkpoint_entry *e = checkpoint_entries(from, &count);
	const uint64_t before = rows_counts(from, v).updates;
	bool waits;

	if (before > *updates)
		*updates = before;
	table_update(t, *updates);
	table_end_update(t);
	for (size_t i = 0; i < count; i++) {
		if (!is_part(&e[i], v, &waits))
			continue;

		const struct part p = { from, &e[i], v, waits, slots };
		struct table *to = waits ? table_waiting(t) : t;

		if (to && put_part(&p, to, ranges, f) < 0)
			return -1;
	}
	return 0;
}

const struct checkpoint_reader checkpoint_reader = {
	.read = checkpoint_read, .read_rows = rows_restore
};
