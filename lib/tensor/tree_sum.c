#include "tensor/tree_sum.h"

#include "base/mem.h"
#include "tensor/kernels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FEW	16			/* floats that are not worth a call */
#define KEPT	((size_t)1 << 20)	/* bytes, for the next time */

static void
release_levels(struct tree_sum *t)
{
	for (size_t k = 0; k < TREE_LEVELS; k++) {
		free(t->level[k]);
		t->level[k] = NULL;
	}
	t->level_room = 0;
}

static void
release_rows(struct tree_sum *t)
{
	free(t->row);
	t->row = NULL;
	t->rows_room = 0;
}

void
tree_sum_begin(struct tree_sum *t, float *sum, size_t rows, size_t width)
{
	t->sum = sum;
	t->width = width;
	t->rows = rows;
	if (rows * width > t->level_room) {
		release_levels(t);
		t->level_room = rows * width;
	}
	if (rows > t->rows_room) {
		release_rows(t);
		t->row = mem_alloc(rows, sizeof(*t->row));
		t->rows_room = rows;
	} else if (rows > 0) {
		memset(t->row, 0, rows * sizeof(*t->row));
	}
}

void
tree_sum_release(struct tree_sum *t)
{
	release_levels(t);
	release_rows(t);
	*t = (struct tree_sum){ 0 };
}

static void
add(float *restrict to, const float *restrict from, size_t n)
{
	if (n > FEW)
		kernel_add(to, from, n);
	else
		for (size_t i = 0; i < n; i++)
			to[i] += from[i];
}

static float *
at_level(struct tree_sum *t, size_t row, unsigned level)
{
	if (!t->level[level])
		t->level[level] = mem_resize(NULL, t->level_room,
					     sizeof(float));
	return t->level[level] + row * t->width;
}

/* The highest of the stack: the one of the lowest level. */
static float *
top(struct tree_sum *t, size_t row)
{
	const uint32_t levels = t->row[row].levels;

	return levels == 0 ? t->sum + row * t->width :
		at_level(t, row, (unsigned)__builtin_ctz(levels));
}

/* All that is below a level is one node of the tree. */
static void
close_below(struct tree_sum *t, size_t row, unsigned level)
{
	uint32_t *levels = &t->row[row].levels;

	while (*levels & ((UINT32_C(1) << level) - 1)) {
		const float *from = top(t, row);

		*levels &= *levels - 1;
		add(top(t, row), from, t->width);
	}
}

/* The level of the node whose halves have one of two leaves each. */
static unsigned
parting(uint32_t a, uint32_t b)
{
	return 31 - (unsigned)__builtin_clz(a ^ b);
}

float *
tree_sum_leaf(struct tree_sum *t, size_t row, uint32_t number, uint32_t next,
	      bool *add_it)
{
	struct tree_row *r = &t->row[row];
	const uint32_t last = r->last;
	unsigned level;

	assert(row < t->rows && number < next && last <= number);
	r->last = number + 1;
	*add_it = false;
	if (last == 0)
		return t->sum + row * t->width;
	level = parting(last - 1, number);
	close_below(t, row, level);
	/* Alone in its half, it needs no place of its own. */
	*add_it = next == TREE_END || parting(number, next) > level;
	if (!*add_it)
		r->levels |= UINT32_C(1) << level;
	return top(t, row);
}

void
tree_sum_add(struct tree_sum *t, size_t row, uint32_t number, uint32_t next,
	     const float *from)
{
	bool adds;
	float *to = tree_sum_leaf(t, row, number, next, &adds);

	if (adds)
		add(to, from, t->width);
	else
		memcpy(to, from, t->width * sizeof(*to));
}

void
tree_sum_end(struct tree_sum *t)
{
	for (size_t i = 0; i < t->rows; i++)
		close_below(t, i, TREE_LEVELS);
	if (t->level_room * sizeof(float) > KEPT)
		release_levels(t);
	if (t->rows_room * sizeof(*t->row) > KEPT)
		release_rows(t);
}
