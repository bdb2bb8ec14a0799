#include "store/convert.h"

#include "base/mem.h"
#include "store/arrays.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "store/merged_arrays.h"

#include <stdlib.h>
#include <string.h>

/* The counts of a variable, which are written as an array, too. */
struct counts {
	const char *variable;
	int length;			/* of its name */
	uint64_t number[CONVERT_COUNTS];
};

struct export {
	struct merged_arrays whole;
	const struct merged_array **array;
	size_t arrays;
	struct counts *counts;		/* written after the arrays */
};

static int
read_rows(void *data, size_t i, struct rows rows, void *out, struct fail *f)
{
	const struct export *x = data;

	if (i >= x->arrays) {
		memcpy(out, x->counts[i - x->arrays].number + rows.first,
		       rows.count * sizeof(uint64_t));
		return 0;
	}
	return merged_arrays_read(&x->whole, x->array[i], rows, out, f);
}

static int
write_arrays(struct export *x, size_t counts, const char *path,
	     struct fail *f)
{
	size_t count = x->arrays + counts;
	struct arrays_item *item = mem_alloc(count, sizeof(*item));
	int r;

	for (size_t i = 0; i < x->arrays; i++)
		item[i] = (struct arrays_item){
			merged_array_name(x->array[i]), x->array[i]->shape,
			x->array[i]->numbers
		};
	for (size_t i = 0; i < counts; i++)
		item[x->arrays + i] = (struct arrays_item){
			disk_path("%.*s@" CONVERT_UPDATES,
				  x->counts[i].length, x->counts[i].variable),
			{ 1, { CONVERT_COUNTS } }, true
		};
	r = arrays_write(path, &(struct arrays_source){
			 item, count, read_rows, x }, f);
	while (count > 0)
		free(item[--count].name);
	free(item);
	return r;
}

/*
 * Return the length of the name of the variable whose counts an array has, or
 * 0.  Values have counts; so have the ids that wait for a row, but those of a
 * table with rows are left to its rows.
 */
static int
counts_of(const struct export *x, const struct merged_array *a)
{
	const size_t n = strlen(a->variable), tail = strlen("/waiting");
	size_t length = n;
	char *table;
	bool rows;

	if (*a->slot)
		return 0;
	if (!a->hashed || n <= tail ||
	    strcmp(a->variable + n - tail, "/waiting") != 0)
		return (int)length;
	length -= tail;
	table = disk_path("%.*s", (int)length, a->variable);
	rows = merged_arrays_find(&x->whole, table, "") != NULL;
	free(table);
	return rows ? 0 : (int)length;
}

/* Collect the counts of all variables that have been updated; return their
   number. */
static size_t
count_all(struct export *x)
{
	const uint64_t step = checkpoint_info(x->whole.checkpoint)->step;
	size_t n = 0;

	for (size_t i = 0; i < x->whole.count; i++) {
		const struct merged_array *a = &x->whole.array[i];
		struct counts *c = &x->counts[n];
		const int length = counts_of(x, a);

		if (length == 0)
			continue;
		*c = (struct counts){ a->variable, length, { 0 } };
		for (size_t k = 0; k < a->parts; k++) {
			if (c->number[0] < a->part[k]->updates)
				c->number[0] = a->part[k]->updates;
			if (c->number[1] < a->part[k]->since)
				c->number[1] = a->part[k]->since;
			c->number[2] = step - a->part[k]->begun;
		}
		n += c->number[0] > 0;
	}
	return n;
}

int
convert_export(struct checkpoint *c, const char *path, bool slots,
	       struct fail *f)
{
	struct export x = { 0 };
	int r = merged_arrays_open(&x.whole, c, f);

	x.array = mem_alloc(x.whole.count, sizeof(*x.array));
	for (size_t i = 0; i < x.whole.count; i++) {
		const struct merged_array *a = &x.whole.array[i];

		/* Rows are of no use without their ids. */
		if (*a->slot == '\0' || slots ||
		    strcmp(a->slot, CHECKPOINT_ID) == 0)
			x.array[x.arrays++] = a;
	}
	x.counts = mem_alloc(x.whole.count, sizeof(*x.counts));
	if (r == 0)
		r = write_arrays(&x, slots ? count_all(&x) : 0, path, f);
	free(x.counts);
	free(x.array);
	merged_arrays_release(&x.whole);
	return r;
}

static int
write_npy(const struct merged_arrays *w, const struct merged_array *a,
	  int (*add)(void *, const void *, size_t, struct fail *),
	  void *to, struct fail *f)
{
	const struct arrays_item item = { NULL, a->shape, a->numbers };
	struct export x = { .whole = *w, .array = &a, .arrays = 1 };
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
	const struct merged_array part = {
		.shape = e ? e->shape : (struct shape){ 0 },
		.numbers = manifest_is_number(slot), .part = &e, .parts = 1,
	};
	struct merged_arrays w;
	int r = merged_arrays_open(&w, c, f);
	const struct merged_array *a = e ? &part :
		merged_arrays_find(&w, variable, slot);

	if (r == 0 && !a)
		r = fail(f, FAIL_DATA, "%s: holds no '%.200s'; see what it "
			 "holds by ps-ckpt show", checkpoint_path(c), name);
	if (r == 0)
		r = write_npy(&w, a, add, to, f);
	merged_arrays_release(&w);
	free(variable);
	return r;
}
