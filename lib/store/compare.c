#include "store/compare.h"

#include "base/hash.h"
#include "base/mem.h"
#include "store/merged_arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	((size_t)1 << 18)	/* numbers, but at least a row */

struct sums {
	double largest, squares;
};

static void
add_difference(struct sums *s, double a, double b)
{
	double d = fabs(a - b);

	/* Two equal infinities do not differ, nor do two NaN. */
	if (a == b || (isnan(a) && isnan(b)))
		d = 0;
	else if (isnan(d))
		d = INFINITY;
	if (d > s->largest)
		s->largest = d;
	s->squares += d * d;
}

/* Add the differences of n numbers: of uint64_t if numbers, else of floats. */
static void
add(struct sums *s, bool numbers, const void *a, const void *b, size_t n)
{
	const uint64_t *number[] = { a, b };
	const float *value[] = { a, b };

	for (size_t i = 0; numbers && i < n; i++)
		add_difference(s, (double)number[0][i], (double)number[1][i]);
	for (size_t i = 0; !numbers && i < n; i++)
		add_difference(s, (double)value[0][i], (double)value[1][i]);
}

/* An array of one of the two checkpoints, and its rows that are in memory. */
struct side {
	const struct merged_arrays *from;
	const struct merged_array *array, *ids;
	struct rows block;
	char *row;
	size_t width, bytes;		/* of a row: numbers, and bytes */
	size_t step;			/* rows of a block, at most */

	/* The present row of a hashed table: */
	uint64_t *id, key;		/* ids of the block; the row's key */
	size_t next;			/* its place in the block */
	bool there;			/* false: after the last row */
};

static void
side_begin(struct side *s, const struct merged_arrays *from,
	   const struct merged_array *array)
{
	const size_t width = shape_width(array->shape);

	*s = (struct side){
		.from = from, .array = array, .width = width,
		.ids = merged_arrays_find(from, array->variable, CHECKPOINT_ID),
		.bytes = width * (array->numbers ? sizeof(uint64_t) :
				  sizeof(float)),
		.step = width < PIECE ? PIECE / width : 1,
	};
	s->row = mem_alloc(s->step, s->bytes);
	s->id = mem_alloc(array->hashed ? s->step : 0, sizeof(*s->id));
}

static void
side_end(struct side *s)
{
	free(s->row);
	free(s->id);
}

/* Read the next block, which is empty after the last row. */
static int
side_load(struct side *s, struct fail *f)
{
	size_t left;

	s->block.first += s->block.count;
	left = shape_rows(s->array->shape) - s->block.first;
	s->block.count = left < s->step ? left : s->step;
	if (s->array->hashed &&
	    merged_arrays_read(s->from, s->ids, s->block, s->id, f) < 0)
		return -1;
	return merged_arrays_read(s->from, s->array, s->block, s->row, f);
}

static int
compare_rows(struct side *a, struct side *b, struct compare_item *item,
	     struct fail *f)
{
	const size_t size = shape_size(a->array->shape);
	struct sums sums = { 0 };
	int r;

	while (r = side_load(a, f) < 0 ? -1 : side_load(b, f), r == 0 &&
	       a->block.count > 0)
		add(&sums, a->array->numbers, a->row, b->row,
		    a->block.count * a->width);
	item->largest = sums.largest;
	item->rms = sqrt(sums.squares / (double)size);
	return r;
}

/* Go to the next row of a hashed table, if there is one. */
static int
next_row(struct side *s, struct fail *f)
{
	const bool was_there = s->there;
	const uint64_t last = s->key;

	s->next += was_there;
	if (s->next == s->block.count) {
		s->next = 0;
		if (side_load(s, f) < 0)
			return -1;
	}
	s->there = s->block.count > 0;
	if (!s->there)
		return 0;
	s->key = hash_mix(s->id[s->next]);
	if (was_there && s->key <= last)
		return fail(f, FAIL_DATA, "%s: rows of '%s' are not in the "
			    "order of their keys",
			    checkpoint_path(s->from->checkpoint),
			    s->array->variable);
	return 0;
}

/* Compare two hashed tables.  Rows of both are in the order of keys, so a merge
   finds those with equal ids. */
static int
join_rows(struct side *a, struct side *b, struct compare_item *item,
	  struct fail *f)
{
	struct sums sums = { 0 };
	size_t both = 0;
	int r = next_row(a, f) < 0 ? -1 : next_row(b, f);

	while (r == 0 && (a->there || b->there)) {
		const bool in_a = a->there && (!b->there || a->key <= b->key);
		const bool in_b = b->there && (!a->there || b->key <= a->key);

		if (in_a && in_b) {
			both++;
			add(&sums, a->array->numbers,
			    a->row + a->next * a->bytes,
			    b->row + b->next * b->bytes, a->width);
		} else {
			item->only[in_b]++;
		}
		if (in_a)
			r = next_row(a, f);
		if (r == 0 && in_b)
			r = next_row(b, f);
	}
	if (both == 0)
		item->mismatch = "no row in both";
	else
		item->rms = sqrt(sums.squares / (double)(both * a->width));
	item->largest = sums.largest;
	return r;
}

static const char *
shape_mismatch(const struct merged_array *a, const struct merged_array *b)
{
	if (a->hashed != b->hashed)
		return "hashed in one only";
	if (a->hashed ? shape_width(a->shape) != shape_width(b->shape) :
	    !shape_equal(a->shape, b->shape))
		return "of another shape";
	return NULL;
}

static int
compare_arrays(const struct merged_arrays *w[2], const struct merged_array *a,
	       const struct merged_array *b, struct compare_item *item,
	       struct fail *f)
{
	struct side left, right;
	int r;

	item->mismatch = shape_mismatch(a, b);
	if (item->mismatch)
		return 0;
	side_begin(&left, w[0], a);
	side_begin(&right, w[1], b);
	r = a->hashed ? join_rows(&left, &right, item, f) :
		compare_rows(&left, &right, item, f);
	side_end(&left);
	side_end(&right);
	return r;
}

/* Is this array compared?  Ids are not: rows are matched by them. */
static bool
is_wanted(const struct merged_array *a, bool slots)
{
	if (a->hashed && strcmp(a->slot, CHECKPOINT_ID) == 0)
		return false;
	return *a->slot == '\0' || slots;
}

/* Compare all arrays of the first, then list those that only the second has. */
static int
compare_wholes(const struct merged_arrays *w[2], bool slots,
	       struct compare_item *item, size_t *count, struct fail *f)
{
	const size_t n = w[0]->count, m = w[1]->count;
	int r = 0;

	*count = 0;
	for (size_t i = 0; r == 0 && i < n + m; i++) {
		const struct merged_array *a =
			i < n ? &w[0]->array[i] : &w[1]->array[i - n];
		const struct merged_array *other =
			merged_arrays_find(w[i < n], a->variable, a->slot);
		struct compare_item *to = &item[*count];

		if (!is_wanted(a, slots) || (i >= n && other))
			continue;
		*to = (struct compare_item){ .name = merged_array_name(a) };
		++*count;
		if (other)
			r = compare_arrays(w, a, other, to, f);
		else
			to->mismatch = i < n ? "only in the first" :
					     "only in the second";
	}
	return r;
}

struct compare_item *
compare_checkpoints(struct checkpoint *a, struct checkpoint *b, bool slots,
		    size_t *count, struct fail *f)
{
	struct merged_arrays left = { 0 }, right = { 0 };
	struct compare_item *item = NULL;

	*count = 0;
	if (merged_arrays_open(&left, a, f) == 0 &&
	    merged_arrays_open(&right, b, f) == 0) {
		item = mem_alloc(left.count + right.count, sizeof(*item));
		if (compare_wholes((const struct merged_arrays *[]){ &left,
			&right },
				   slots, item, count, f) < 0) {
			compare_free(item, *count);
			item = NULL;
		}
	}
	merged_arrays_release(&right);
	merged_arrays_release(&left);
	return item;
}

void
compare_free(struct compare_item *item, size_t count)
{
	while (count > 0)
		free(item[--count].name);
	free(item);
}
