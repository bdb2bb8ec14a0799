#include "model/local_steps.h"

#include "base/mem.h"
#include "tensor/apply.h"
#include "tensor/kernels.h"

#include <stdlib.h>
#include <string.h>

struct copy {
	float *at;		/* rows x width values, and behind them as many
				   of each slot */
	size_t rows, width, room;
	uint64_t t;		/* batches that the slots have seen */
	bool good;		/* the slots are finite, and of a step that
				   has ended */
	float learning_rate;	/* of this step */
};

struct local_steps {
	const struct variable *variable;
	size_t variables;
	struct copy *copy;	/* of each variable */
	uint64_t *number;	/* of the rows of a batch */
	size_t number_room;
};

struct local_steps *
local_steps_new(const struct model *m)
{
	struct local_steps *l = mem_alloc(1, sizeof(*l));

	l->variable = model_variables(m, &l->variables);
	l->copy = mem_alloc(l->variables, sizeof(*l->copy));
	for (size_t v = 0; v < l->variables; v++)
		l->copy[v].width = shape_width(l->variable[v].shape);
	return l;
}

void
local_steps_free(struct local_steps *l)
{
	if (!l)
		return;
	for (size_t v = 0; v < l->variables; v++)
		free(l->copy[v].at);
	free(l->copy);
	free(l->number);
	free(l);
}

static size_t
floats(const struct copy *c)
{
	return c->rows * c->width;
}

/* Make room for so many rows.  The contents stay if the number does. */
static void
make_room(struct copy *c, size_t rows, size_t slots)
{
	const size_t all = rows * c->width * (1 + slots);

	c->rows = rows;
	if (c->at && all <= c->room)
		return;
	free(c->at);
	c->at = mem_alloc(all, sizeof(*c->at));
	c->room = all;
}

static void
begin_slots(struct copy *c, const struct optimizer *o)
{
	for (size_t s = 0; s < o->slots; s++)
		for (size_t i = 0; i < floats(c); i++)
			c->at[(1 + s) * floats(c) + i] = o->slot_start[s];
	c->t = 0;
}

void
local_steps_begin(struct local_steps *l, struct compute *step, uint64_t number)
{
	for (size_t v = 0; v < l->variables; v++) {
		const struct local *how = l->variable[v].local;
		struct copy *c = &l->copy[v];

		if (!how)
			continue;
		make_room(c, compute_rows(step, v).count,
			  how->optimizer.slots);
		if (!how->keep || !c->good)
			begin_slots(c, &how->optimizer);
		c->good = false;
		c->learning_rate = schedule_at(&how->optimizer.schedule,
					       number);
		memcpy(c->at, compute_value(step, v),
		       floats(c) * sizeof(*c->at));
	}
}

const float *
local_steps_value(const struct local_steps *l, size_t v)
{
	return l->copy[v].at;
}

static struct row_set
rows_of(struct local_steps *l, const struct copy *c, const uint32_t *row,
	size_t rows)
{
	if (rows > l->number_room) {
		free(l->number);
		l->number = mem_alloc(rows, sizeof(*l->number));
		l->number_room = rows;
	}
	for (size_t i = 0; i < rows; i++)
		l->number[i] = row[i];
	return (struct row_set){ .count = rows, .width = c->width,
				 .number = l->number, .first = c->at };
}

void
local_steps_train(struct local_steps *l, size_t v, const uint32_t *row,
		  size_t rows, const float *gradient, uint64_t examples)
{
	struct copy *c = &l->copy[v];
	const struct apply how = {
		.optimizer = &l->variable[v].local->optimizer,
		.learning_rate = c->learning_rate, .t = ++c->t,
		.examples = (float)examples
	};

	if (row)
		apply_rows(&how, rows_of(l, c, row, rows), floats(c),
			   gradient);
	else
		apply_all(&how, c->at, c->at, gradient, floats(c));
}

void
local_steps_end(struct local_steps *l, struct compute *step,
		uint64_t examples)
{
	for (size_t v = 0; v < l->variables; v++) {
		const struct local *how = l->variable[v].local;
		struct copy *c = &l->copy[v];
		const float *start = compute_value(step, v);
		float *to = compute_gradient(step, v);

		for (size_t i = 0; how && i < floats(c); i++)
			to[i] = (float)examples * (start[i] - c->at[i]);
		c->good = how && kernel_finite(c->at + floats(c), floats(c) *
					       how->optimizer.slots);
	}
}
