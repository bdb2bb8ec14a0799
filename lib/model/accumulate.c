#include "model/accumulate.h"

#include "base/mem.h"
#include "model/local_steps.h"
#include "tensor/kernels.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS	64		/* levels of the tree, at most */

/*
 * The sum of a variable's gradients over some of the batches.  For a table it
 * has only the rows that these batches look up; row[] says which of the step's
 * rows they are.
 */
struct part {
	float *sum;		/* rows x width */
	uint32_t *row;		/* sorted */
	size_t rows, sum_room, row_room;
};

/* A node of the tree that is not added to its parent yet. */
struct sum {
	unsigned level;
	struct part *part;	/* one for each variable; NULL: no memory yet */
};

struct accumulator {
	const struct model *model;
	const struct variable *variable;
	size_t variables;
	struct compute *compute;	/* of the batch at hand */
	struct batch batch;
	struct local_steps *local;	/* copies that the batches train */
	struct part *row;	/* for each variable, where the rows of the
				   batch at hand are among the step's */
	struct part merged;
	struct sum sum[LEVELS];		/* a stack of nodes that are not added
					   yet; their levels fall */
	size_t sums;
	double loss;
	uint64_t examples;
};

struct accumulator *
accumulator_new(const struct model *m, const struct externals *externals,
		struct crew *crew)
{
	struct accumulator *a = mem_alloc(1, sizeof(*a));
	size_t inputs;
	const struct input *input = model_inputs(m, &inputs);

	a->model = m;
	a->variable = model_variables(m, &a->variables);
	a->compute = compute_new(m, externals);
	compute_share(a->compute, crew);
	a->local = local_steps_new(m);
	a->row = mem_alloc(a->variables, sizeof(*a->row));
	batch_begin(&a->batch, input, inputs, model_label(m));
	return a;
}

static void
part_release(struct part *p)
{
	free(p->sum);
	free(p->row);
}

void
accumulator_free(struct accumulator *a)
{
	if (!a)
		return;
	for (size_t v = 0; v < a->variables; v++) {
		part_release(&a->row[v]);
		for (size_t i = 0; i < LEVELS && a->sum[i].part; i++)
			part_release(&a->sum[i].part[v]);
	}
	for (size_t i = 0; i < LEVELS; i++)
		free(a->sum[i].part);
	part_release(&a->merged);
	local_steps_free(a->local);
	free(a->row);
	compute_free(a->compute);
	batch_release(&a->batch);
	free(a);
}

/* Make room for this number of rows; the content may be lost. */
static void
make_room(struct part *p, size_t rows, size_t width)
{
	if (rows * width > p->sum_room) {
		free(p->sum);
		p->sum_room = rows * width;
		p->sum = mem_alloc(p->sum_room, sizeof(*p->sum));
	}
	if (rows > p->row_room) {
		free(p->row);
		p->row_room = rows;
		p->row = mem_alloc(rows, sizeof(*p->row));
	}
}

static size_t
width_of(const struct accumulator *a, size_t v)
{
	return shape_width(a->variable[v].shape);
}

/* ---- one batch ---- */

/*
 * Find where the rows of the batch are among those of the step. Both lists are
 * sorted.
 */
static void
find_rows(struct accumulator *a, struct compute *step, size_t v)
{
	const struct compute_rows all = compute_rows(step, v);
	const struct compute_rows some = compute_rows(a->compute, v);
	struct part *p = &a->row[v];

	make_room(p, some.count, 0);
	p->rows = some.count;
	for (size_t i = 0, at = 0; i < some.count; i++, at++) {
		while (all.ids[at] != some.ids[i])
			at++;
		p->row[i] = (uint32_t)at;
	}
}

/*
 * Copy the values that the batch needs from the step's, or from the copy that
 * the batches before have trained.  Other variables than these and tables are
 * the same for all batches, and are copied for the first one only.
 */
static void
take_values(struct accumulator *a, struct compute *step, bool first)
{
	for (size_t v = 0; v < a->variables; v++) {
		const size_t width = width_of(a, v);
		const bool local = a->variable[v].local;
		const float *from = local ? local_steps_value(a->local, v) :
			compute_value(step, v);
		float *to = compute_value(a->compute, v);

		if (!a->variable[v].table) {
			if (first || local)
				memcpy(to, from, compute_rows(step, v).count *
				       width * sizeof(*to));
			continue;
		}
		find_rows(a, step, v);
		for (size_t i = 0; i < a->row[v].rows; i++)
			memcpy(to + i * width, from + a->row[v].row[i] * width,
			       width * sizeof(*to));
	}
}

static void
train_copies(struct accumulator *a)
{
	for (size_t v = 0; v < a->variables; v++)
		if (a->variable[v].local)
			local_steps_train(a->local, v, a->variable[v].table ?
					  a->row[v].row : NULL, a->row[v].rows,
					  compute_gradient(a->compute, v),
					  compute_examples(a->compute));
}

static int
train(struct accumulator *a, struct compute *step,
      const struct accumulation *how, size_t at, struct metric_state *state,
      struct fail *f)
{
	const size_t left = how->batch->examples - at;

	batch_reset(&a->batch);
	batch_append_run(&a->batch, how->batch, at,
			 left < how->size ? left : how->size);
	compute_begin(a->compute, &a->batch);
	take_values(a, step, at == 0);
	compute_train(a->compute, how->seed ^
		      (how->first + at / how->size) << 40, state);
	if (compute_check(a->compute, f) < 0)
		return -1;
	compute_clip(a->compute);
	train_copies(a);
	a->loss += compute_loss(a->compute);
	a->examples += compute_examples(a->compute);
	return 0;
}

/* ---- the tree ---- */

/*
 * Add two gradients of a table.  A row that only one of them has stays as it
 * is, to the bit.
 */
static void
merge(struct part *to, const struct part *a, const struct part *b,
      size_t width)
{
	size_t i = 0, k = 0, n = 0;

	make_room(to, a->rows + b->rows, width);
	for (; i < a->rows || k < b->rows; n++) {
		const bool left = k == b->rows ||
			(i < a->rows && a->row[i] <= b->row[k]);
		const bool both = left && k < b->rows && a->row[i] == b->row[k];
		const struct part *from = left ? a : b;
		const size_t at = left ? i++ : k++;

		to->row[n] = from->row[at];
		memcpy(to->sum + n * width, from->sum + at * width,
		       width * sizeof(*to->sum));
		if (both)
			kernel_add(to->sum + n * width,
				   b->sum + k++ * width, width);
	}
	to->rows = n;
}

static void
add_part(struct accumulator *a, size_t v, struct part *to,
	 const struct part *more)
{
	const size_t width = width_of(a, v);
	struct part old = *to;

	if (!a->variable[v].table) {
		kernel_add(to->sum, more->sum, more->rows * width);
		return;
	}
	merge(&a->merged, to, more, width);
	*to = a->merged;
	a->merged = old;
}

/*
 * Return the gradient of the batch at hand, in the memory of its compute; none
 * if it has trained a copy.
 */
static struct part
batch_gradient(struct accumulator *a, size_t v)
{
	struct part p = a->row[v];

	p.sum = compute_gradient(a->compute, v);
	p.rows = a->variable[v].local ? 0 :
		compute_rows(a->compute, v).count;
	return p;
}

static void
copy_leaf(struct accumulator *a, struct sum *to)
{
	if (!to->part)
		to->part = mem_alloc(a->variables, sizeof(*to->part));
	to->level = 0;
	for (size_t v = 0; v < a->variables; v++) {
		const struct part from = batch_gradient(a, v);
		const size_t width = width_of(a, v);
		struct part *p = &to->part[v];

		make_room(p, from.rows, width);
		p->rows = from.rows;
		if (from.rows == 0)
			continue;
		memcpy(p->sum, from.sum, from.rows * width * sizeof(*p->sum));
		if (a->variable[v].table)
			memcpy(p->row, from.row, from.rows * sizeof(*p->row));
	}
}

/* Add the last sum of the stack to the one before it. */
static void
add_last(struct accumulator *a)
{
	struct sum *to = &a->sum[a->sums - 2];

	for (size_t v = 0; v < a->variables; v++)
		add_part(a, v, &to->part[v], &to[1].part[v]);
	to->level++;
	a->sums--;
}

static void
add_leaf(struct accumulator *a)
{
	struct sum *last = a->sums > 0 ? &a->sum[a->sums - 1] : NULL;

	if (!last || last->level > 0) {
		copy_leaf(a, &a->sum[a->sums++]);
		return;
	}
	for (size_t v = 0; v < a->variables; v++) {
		const struct part from = batch_gradient(a, v);

		add_part(a, v, &last->part[v], &from);
	}
	last->level++;
	while (a->sums > 1 && last[-1].level == last->level) {
		add_last(a);
		last--;
	}
}

/*
 * Copy the sums to the step's gradient.  They have all of its rows, since each
 * was looked up by some batch.
 */
static void
copy_sums(struct accumulator *a, struct compute *step)
{
	for (size_t v = 0; v < a->variables; v++) {
		const struct part *p = &a->sum[0].part[v];

		if (p->rows > 0)
			memcpy(compute_gradient(step, v), p->sum, p->rows *
			       width_of(a, v) * sizeof(float));
	}
}

int
accumulate_train(struct accumulator *a, struct compute *step,
		 const struct accumulation *how, struct metric_state *state,
		 struct fail *f)
{
	a->sums = 0;
	a->loss = 0;
	a->examples = 0;
	local_steps_begin(a->local, step, how->step);
	for (size_t at = 0; at < how->batch->examples; at += how->size) {
		if (train(a, step, how, at, state, f) < 0)
			return -1;
		add_leaf(a);
	}
	while (a->sums > 1)
		add_last(a);
	copy_sums(a, step);
	local_steps_end(a->local, step, a->examples);
	compute_set_loss(step, a->loss, a->examples);
	return 0;
}
