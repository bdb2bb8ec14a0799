#include "wire/gradient_tree.h"

#include "base/mem.h"
#include "tensor/tree_sum.h"

#include <stdlib.h>

/* How far one leaf has been read. */
struct leaf_reader {
	struct unpack keys;
	const char *values;
	struct row_list rows;	/* of the piece that it stands on */
};

struct gradient_tree {
	const struct plan *plan;
	struct tree_sum tree;
	struct leaf_reader *reader;
	size_t readers;
	float *sum, *wide;	/* wide: floats that travel as others */
	size_t sum_room, wide_room;
};

/* A piece of a sum that is being made. */
struct piece_sum {
	struct gradient_tree *tree;
	const struct piece *piece;
	const struct row_list *rows;
};

struct gradient_tree *
gradient_tree_new(const struct plan *plan)
{
	struct gradient_tree *t = mem_alloc(1, sizeof(*t));

	t->plan = plan;
	return t;
}

static void
release_readers(struct gradient_tree *t)
{
	for (size_t i = 0; i < t->readers; i++)
		free(t->reader[i].rows.row);
	free(t->reader);
	t->reader = NULL;
	t->readers = 0;
}

void
gradient_tree_free(struct gradient_tree *t)
{
	if (!t)
		return;
	release_readers(t);
	tree_sum_release(&t->tree);
	free(t->sum);
	free(t->wide);
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

/* All of a dense piece is one row of the tree. */
static void
add_dense(const struct piece_sum *p, const struct gradient_leaf *leaf,
	  struct leaf_reader *r, uint32_t next)
{
	const struct codec_slice slice = plan_slice(p->piece, r->rows.count);
	const struct codec *codec = codec_for(leaf->codec, slice);
	bool adds;
	float *to;

	if (r->rows.count == 0)
		return;		/* and perhaps there are no values */
	to = tree_sum_leaf(&p->tree->tree, 0, (uint32_t)leaf->replica, next,
			   &adds);
	(adds ? codec->add : codec->decode)(to, r->values, slice);
}

/* The floats of a leaf, wherever they are. */
static const float *
decode(struct gradient_tree *t, const struct codec *codec, const void *values,
       struct codec_slice slice)
{
	codec = codec_for(codec, slice);
	if (codec->exact && (uintptr_t)values % sizeof(float) == 0)
		return values;
	reserve(&t->wide, &t->wide_room, slice.rows * slice.width);
	codec->decode(t->wide, values, slice);
	return t->wide;
}

static void
add_rows(const struct piece_sum *p, const struct gradient_leaf *leaf,
	 struct leaf_reader *r, uint32_t next)
{
	const struct codec_slice slice = plan_slice(p->piece, r->rows.count);
	const float *from;

	if (r->rows.count == 0)
		return;
	from = decode(p->tree, leaf->codec, r->values, slice);
	for (size_t k = 0, at = 0; k < r->rows.count; k++, at++) {
		while (p->rows->row[at] != r->rows.row[k])
			at++;
		tree_sum_add(&p->tree->tree, at, (uint32_t)leaf->replica, next,
			     from + k * p->piece->width);
	}
}

static void
add_piece(const struct piece_sum *p, const struct gradient_leaf *leaf,
	  size_t leaves)
{
	for (size_t i = 0; i < leaves; i++) {
		struct leaf_reader *r = &p->tree->reader[i];
		const uint32_t next = i + 1 == leaves ? TREE_END :
			(uint32_t)leaf[i + 1].replica;

		(p->piece->table ? add_rows : add_dense)(p, &leaf[i], r, next);
		r->values += codec_bytes(leaf[i].codec,
					 plan_slice(p->piece, r->rows.count));
	}
}

static void
read_rows(struct gradient_tree *t, const struct piece *piece, size_t leaves,
	  struct row_list *all)
{
	all->count = piece->table ? 0 : piece->count;
	for (size_t i = 0; i < leaves; i++) {
		row_list_read(&t->reader[i].rows, &t->reader[i].keys, piece);
		if (piece->table)
			row_list_unite(all, &t->reader[i].rows);
	}
}

size_t
gradient_tree_sum(struct gradient_tree *t, size_t n,
		  const struct gradient_leaf *leaf, size_t leaves,
		  struct row_list *rows, float **sum)
{
	const struct part *part = &t->plan->part[n];
	size_t floats = 0;

	t->reader = mem_alloc(leaves, sizeof(*t->reader));
	t->readers = leaves;
	for (size_t i = 0; i < leaves; i++) {
		t->reader[i].keys = unpack_from(leaf[i].keys->data,
						leaf[i].keys->size);
		t->reader[i].values = leaf[i].values->data;
	}
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &t->plan->piece[part->first + i];
		const struct piece_sum p = { t, piece, &rows[i] };
		size_t size;

		read_rows(t, piece, leaves, &rows[i]);
		size = rows[i].count * piece->width;
		reserve(&t->sum, &t->sum_room, floats + size + 1);
		tree_sum_begin(&t->tree, t->sum + floats, piece->table ?
			       rows[i].count : 1, piece->table ? piece->width :
			       size);
		add_piece(&p, leaf, leaves);
		tree_sum_end(&t->tree);
		floats += size;
	}
	release_readers(t);
	*sum = t->sum;
	return floats;
}
