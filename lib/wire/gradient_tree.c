#include "wire/gradient_tree.h"

#include "base/mem.h"
#include "tensor/few.h"
#include "tensor/kernels.h"
#include "tensor/tree_sum.h"
#include "wire/keys.h"

#include <stdlib.h>
#include <string.h>

#define TILE	((size_t)2048)	/* floats of a dense piece that are added up at
				   a time */
#define LINE	16		/* floats of a cache line */

/* How far one leaf has been read. */
struct leaf_reader {
	const struct gradient_leaf *leaf;
	struct unpack keys;
	const char *values;
	struct row_list rows;	/* rows of the current piece, */
	const float *from;	/* and their floats; NULL: not decoded */
};

/* A leaf that has more rows of a table. */
struct row_reader {
	uint32_t number;
	const uint64_t *row, *end;
	const float *from;
};

struct gradient_tree {
	const struct plan *plan;
	size_t count, room;		/* leaves, of each of these arrays */
	struct leaf_reader *reader;
	struct tree_leaf *leaf;
	struct row_reader *row;
	uint64_t *head;			/* the next row of each row_reader */
	size_t *found;			/* which row_readers have the row in
					   hand */
	size_t heads;
	float *sum, *wide, *level;	/* wide: decoded floats; level: partial
					   sums beside the one in hand */
	size_t sum_room, wide_room, level_room;
};

struct gradient_tree *
gradient_tree_new(const struct plan *plan)
{
	struct gradient_tree *t = mem_alloc(1, sizeof(*t));

	t->plan = plan;
	return t;
}

void
gradient_tree_free(struct gradient_tree *t)
{
	if (!t)
		return;
	free(t->reader);
	free(t->leaf);
	free(t->row);
	free(t->head);
	free(t->found);
	free(t->sum);
	free(t->wide);
	free(t->level);
	free(t);
}

static float *
reserve(float **at, size_t *room, size_t floats)
{
	if (floats > *room) {
		*room = floats;
		*at = mem_resize(*at, floats, sizeof(float));
	}
	return *at;
}

/* Make room for `more' floats behind the first `floats' of the sum, which
   stay. */
static float *
grow(struct gradient_tree *t, size_t floats, size_t more)
{
	if (floats + more > t->sum_room)
		reserve(&t->sum, &t->sum_room, (floats + more) * 2);
	return t->sum + floats;
}

static size_t
levels(const struct gradient_tree *t)
{
	return tree_levels((uint32_t)t->reader[t->count - 1].leaf->replica);
}

static void
begin(struct gradient_tree *t, const struct gradient_leaf *leaf, size_t leaves)
{
	if (leaves > t->room) {
		t->room = leaves;
		t->reader = mem_resize(t->reader, leaves, sizeof(*t->reader));
		t->leaf = mem_resize(t->leaf, leaves, sizeof(*t->leaf));
		t->row = mem_resize(t->row, leaves, sizeof(*t->row));
		t->head = mem_resize(t->head, leaves, sizeof(*t->head));
		t->found = mem_resize(t->found, leaves, sizeof(*t->found));
	}
	t->count = leaves;
	for (size_t k = 0; k < leaves; k++) {
		t->reader[k] = (struct leaf_reader){
			.leaf = &leaf[k], .values = leaf[k].values->data,
			.keys = unpack_from(leaf[k].keys->data,
					    leaf[k].keys->size)
		};
	}
}

/* Take a piece off the keys and the values.  false: it is cut short, or
   malformed.  Rows are counted before memory is taken for them. */
static bool
skip_piece(struct unpack *keys, struct row_list *rows, struct frame *values,
	   struct encoding encoding, const struct piece *piece)
{
	const uint64_t count = piece->table ? keys_count(*keys) : piece->count;
	const struct codec_slice slice = plan_slice(piece, count);
	size_t bytes;

	if (count > piece->count && !piece->hashed)
		return false;
	if (count > KEYS_MOST && piece->table)
		return false;
	if (!codec_length(encoding_codec(encoding, piece->variable, slice),
			  values->data, values->size, slice, &bytes))
		return false;
	values->data = (const char *)values->data + bytes;
	values->size -= bytes;
	row_list_read(rows, keys, piece);
	return !keys->bad && rows->count == count;
}

bool
gradient_leaf_is_sound(const struct plan *plan, size_t n,
		       const struct gradient_leaf *leaf)
{
	const struct part *part = &plan->part[n];
	struct unpack keys = unpack_from(leaf->keys->data, leaf->keys->size);
	struct frame left = *leaf->values;
	struct row_list rows = { 0 };
	bool sound = true;

	for (size_t i = 0; i < part->count && sound; i++)
		sound = skip_piece(&keys, &rows, &left, leaf->encoding,
				   &plan->piece[part->first + i]);
	free(rows.row);
	return sound && left.size == 0 && unpack_ok(&keys);
}

/* ---- dense pieces ---- */

static void
add_floats(struct gradient_tree *t, float *to, size_t floats)
{
	size_t some;

	reserve(&t->level, &t->level_room, levels(t) * TILE);
	for (size_t at = 0; at < floats; at += some) {
		some = floats - at < TILE ? floats - at : TILE;
		for (size_t k = 0; k < t->count; k++)
			t->leaf[k].from = t->reader[k].from + at;
		tree_sum(to + at, t->leaf, t->count, some, t->level);
	}
}

/* The codec by which a leaf's floats of a piece travel. */
static const struct codec *
codec_of(const struct leaf_reader *r, const struct piece *piece,
	 struct codec_slice slice)
{
	return encoding_codec(r->leaf->encoding, piece->variable, slice);
}

/* Add up some leaves of a dense piece, as tree_sum() does, when some are
   encoded: each is decoded to the place where it is added. */
static void
add_encoded(float *to, const struct tree_leaf *leaf,
	    const struct leaf_reader *reader, size_t leaves,
	    const struct piece *piece, float *level)
{
	const struct codec_slice slice = plan_slice(piece, piece->count);
	const struct codec *codec = codec_of(reader, piece, slice);
	size_t left;

	if (leaves == 1) {
		codec_decode(codec, to, reader->values, slice);
		return;
	}
	left = tree_left(leaf, leaves);
	add_encoded(to, leaf, reader, left, piece, level);
	if (leaves - left == 1) {
		codec = codec_of(&reader[left], piece, slice);
		codec_add(codec, to, reader[left].values, slice);
		return;
	}
	add_encoded(level, leaf + left, reader + left, leaves - left, piece,
		    level + slice.rows);
	kernel_add(to, level, slice.rows);
}

/* Returns the floats of a leaf where they lie in the message; NULL: they are
   encoded, or not aligned. */
static const float *
find_floats(const struct leaf_reader *r, const struct piece *piece,
	    struct codec_slice slice)
{
	return codec_of(r, piece, slice)->exact &&
		(uintptr_t)r->values % sizeof(float) == 0 ?
		(const float *)(const void *)r->values : NULL;
}

static size_t
sum_dense(struct gradient_tree *t, const struct piece *piece, size_t floats)
{
	const struct codec_slice slice = plan_slice(piece, piece->count);
	float *to = grow(t, floats, piece->count + 1);
	bool all = true;

	if (piece->count == 0)
		return 0;	/* values may be NULL */
	for (size_t k = 0; k < t->count; k++) {
		t->reader[k].from = find_floats(&t->reader[k], piece, slice);
		all = all && t->reader[k].from;
	}
	if (all) {
		add_floats(t, to, piece->count);
	} else {
		reserve(&t->level, &t->level_room, levels(t) * piece->count);
		add_encoded(to, t->leaf, t->reader, t->count, piece, t->level);
	}
	return piece->count;
}

/* ---- rows of tables ---- */

/* Find the floats of all leaves, and decode those that are encoded. */
static void
find_all_floats(struct gradient_tree *t, const struct piece *piece)
{
	size_t floats = 0;
	float *to;

	for (size_t k = 0; k < t->count; k++) {
		struct leaf_reader *r = &t->reader[k];

		r->from = find_floats(r, piece,
				      plan_slice(piece, r->rows.count));
		floats += r->from ? 0 : r->rows.count * piece->width;
	}
	to = reserve(&t->wide, &t->wide_room, floats);
	for (size_t k = 0; k < t->count; k++) {
		struct leaf_reader *r = &t->reader[k];
		const struct codec_slice slice =
			plan_slice(piece, r->rows.count);

		if (r->from || r->rows.count == 0)
			continue;
		codec_decode(codec_of(r, piece, slice), to, r->values, slice);
		r->from = to;
		to += r->rows.count * piece->width;
	}
}

static void
begin_rows(struct gradient_tree *t)
{
	t->heads = 0;
	for (size_t k = 0; k < t->count; k++) {
		const struct row_list *rows = &t->reader[k].rows;

		if (rows->count == 0)
			continue;
		t->head[t->heads] = rows->row[0];
		t->row[t->heads++] = (struct row_reader){
			t->leaf[k].number, rows->row, rows->row + rows->count,
			t->reader[k].from
		};
	}
}

static uint64_t
least_row(const uint64_t *head, size_t heads)
{
	uint64_t least = head[0];

	for (size_t k = 1; k < heads; k++)
		least = head[k] < least ? head[k] : least;
	return least;
}

/* Find which leaves have the row, without a branch that the processor would
   mispredict. */
static size_t
find_leaves(const struct gradient_tree *t, uint64_t row)
{
	size_t n = 0;

	for (size_t k = 0; k < t->heads; k++) {
		t->found[n] = k;
		n += t->head[k] == row;
	}
	return n;
}

/* Move the n leaves that were found to their next rows, and note their floats
   of this one.  false: some leaf has no more rows. */
static bool
advance_leaves(struct gradient_tree *t, size_t n, size_t width)
{
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		const size_t k = t->found[i];
		struct row_reader *r = &t->row[k];

		t->leaf[i] = (struct tree_leaf){ r->number, r->from };
		r->from += width;
		if (++r->row == r->end) {
			all = false;
			continue;
		}
		t->head[k] = *r->row;
		/* The processor prefetches only a few streams by itself. */
		for (size_t j = 0; j < width; j += LINE)
			__builtin_prefetch(r->from + j);
	}
	return all;
}

static void
drop_ended(struct gradient_tree *t)
{
	size_t n = 0;

	for (size_t k = 0; k < t->heads; k++) {
		if (t->row[k].row == t->row[k].end)
			continue;
		t->row[n] = t->row[k];
		t->head[n++] = t->head[k];
	}
	t->heads = n;
}

/* Make room for `more' rows and their floats.  Returns where the floats go. */
static float *
make_room(struct gradient_tree *t, size_t floats, size_t width,
	  struct row_list *all, size_t more)
{
	if (all->count + more > all->room) {
		all->room = all->count + more + all->room / 2;
		all->row = mem_resize(all->row, all->room, sizeof(*all->row));
	}
	return grow(t, floats + all->count * width, more * width);
}

static size_t
rows_left(const struct row_reader *r)
{
	return (size_t)(r->end - r->row);
}

/* Add up the lowest next row of all leaves. */
static void
sum_row(struct gradient_tree *t, size_t width, size_t floats,
	struct row_list *all)
{
	const uint64_t row = least_row(t->head, t->heads);
	const size_t n = find_leaves(t, row);
	const bool more = advance_leaves(t, n, width);
	float *to = make_room(t, floats, width, all, 1);

	if (n == 1)
		few_copy(to, t->leaf->from, width);
	else
		tree_sum(to, t->leaf, n, width, t->level);
	all->row[all->count++] = row;
	if (!more)
		drop_ended(t);
}

/* Merge the rows of two leaves until one of them has no more. */
static void
sum_two(struct gradient_tree *t, size_t width, size_t floats,
	struct row_list *all)
{
	struct row_reader a = t->row[0], b = t->row[1];
	float *to = make_room(t, floats, width, all,
			      rows_left(&a) + rows_left(&b));

	for (; a.row < a.end && b.row < b.end; to += width) {
		const bool has_a = *a.row <= *b.row, has_b = *b.row <= *a.row;

		if (has_a && has_b)
			few_add_two(to, a.from, b.from, width);
		else
			few_copy(to, has_a ? a.from : b.from, width);
		all->row[all->count++] = has_a ? *a.row : *b.row;
		a.row += has_a;
		b.row += has_b;
		a.from += has_a ? width : 0;
		b.from += has_b ? width : 0;
	}
	t->row[0] = a.row < a.end ? a : b;
	t->heads = a.row < a.end || b.row < b.end;
}

/* Copy all further rows of the only leaf that has any. */
static void
copy_rest(struct gradient_tree *t, size_t width, size_t floats,
	  struct row_list *all)
{
	const struct row_reader *r = &t->row[0];
	const size_t count = rows_left(r);
	float *to = make_room(t, floats, width, all, count);

	memcpy(to, r->from, count * width * sizeof(*to));
	memcpy(all->row + all->count, r->row, count * sizeof(*r->row));
	all->count += count;
}

static size_t
sum_rows(struct gradient_tree *t, const struct piece *piece, size_t floats,
	 struct row_list *all)
{
	const size_t width = piece->width;

	find_all_floats(t, piece);
	reserve(&t->level, &t->level_room, levels(t) * width);
	begin_rows(t);
	all->count = 0;
	while (t->heads > 2)
		sum_row(t, width, floats, all);
	if (t->heads == 2)
		sum_two(t, width, floats, all);
	if (t->heads == 1)
		copy_rest(t, width, floats, all);
	return all->count * width;
}

/* ---- all pieces ---- */

static size_t
sum_piece(struct gradient_tree *t, const struct piece *piece, size_t floats,
	  struct row_list *all)
{
	size_t some;

	for (size_t k = 0; k < t->count; k++) {
		struct leaf_reader *r = &t->reader[k];

		row_list_read(&r->rows, &r->keys, piece);
		t->leaf[k].number = (uint32_t)r->leaf->replica;
	}
	all->count = piece->count;
	some = piece->table ? sum_rows(t, piece, floats, all) :
		sum_dense(t, piece, floats);
	for (size_t k = 0; k < t->count; k++) {
		struct leaf_reader *r = &t->reader[k];
		const struct codec_slice slice =
			plan_slice(piece, r->rows.count);
		size_t bytes = 0;

		codec_length(codec_of(r, piece, slice), r->values, SIZE_MAX,
			     slice, &bytes);
		r->values += bytes;
	}
	return some;
}

size_t
gradient_tree_sum(struct gradient_tree *t, size_t n,
		  const struct gradient_leaf *leaf, size_t leaves,
		  struct row_list *rows, float **sum)
{
	const struct part *part = &t->plan->part[n];
	size_t floats = 0;

	begin(t, leaf, leaves);
	for (size_t i = 0; i < part->count; i++)
		floats += sum_piece(t, &t->plan->piece[part->first + i],
				    floats, &rows[i]);
	for (size_t k = 0; k < t->count; k++)
		free(t->reader[k].rows.row);
	*sum = grow(t, 0, 1);
	return floats;
}
