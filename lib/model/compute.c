#include "model/compute.h"

#include "base/breath.h"
#include "base/mem.h"
#include "base/send_buffer.h"
#include "model/buffer_plan.h"
#include "model/graph.h"
#include "model/layer.h"
#include "model/step_program.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * What flows through the nodes, and back, in a block of a large batch: so many
 * floats stay in a processor's cache; but where the weights of all layers do
 * not, which each block looks at, too, it is only to need no more memory.
 */
#define CACHED		((size_t)1 << 19)
#define ALL		((size_t)1 << 25)
#define LEAST		256	/* examples: matrix products want as many */

/*
 * Places that a row may have in a batch for its gradient to be added up in
 * floats.  Of more, what comes next is so small beside the sum so far that its
 * last digits are lost: they go by parts of so many examples.
 */
#define FEW		8192
#define PART		((size_t)512)
#define TABLE_INS	2	/* inputs of a layer with a table, at most */

/* The rows of one variable that a batch needs, and their gradient. */
struct weights {
	float *value;			/* rows x width */
	struct send_buffer *gradient;	/* the same: a gradient is sent as it
					   lies, and may outlive us */
	size_t rows, width, room;
	float largest;			/* of the gradient when it was checked,
					   without its sign */
	bool crowded;			/* some row has more than a few places
					   in the batch: then here is */
	float *part;			/* what a part of the examples adds to
					   each row; zeros between */
	size_t part_room;
	const struct group *by;	/* the inputs that say which rows of a table;
				   NULL: all */
};

struct compute {
	const struct model *model;
	const struct batch *batch;
	size_t values, gradients;	/* floats that an example needs, */
	size_t block;			/* and examples of a block */
	size_t first, examples;		/* at hand, of the batch */
	struct feature *feature;	/* the batch's, from the first on */
	size_t *before;			/* of each group's features: how many
					   ids of the group come before its,
					   see group->first */
	struct pass *pass;		/* one for each node */
	struct fail failure;		/* an external layer's, if it has a
					   kind */
	struct flow *flow;		/* what their .in points into */
	struct sorter sorter;
	struct weights *weights;	/* one for each variable */
	struct gradient *clip;		/* the same, as clip_gradients wants */
	float *value, *gradient;	/* all nodes' numbers, end to end */
	size_t value_room, gradient_room;
	uint64_t begun;			/* so often */
	bool training;			/* of the last forward pass, */
	double loss;			/* as is this */
	uint32_t *places;		/* of each row of a table */
	size_t places_room;
	float *label, *weight;		/* examples; NULL: all count 1 */
	size_t label_room, weight_room;
	struct step_program **program;	/* of each step line; the one at */
	size_t line;			/* hand has the loss, if there is one */
	float **value_at, **gradient_at;	/* of each variable, for it */
	uint64_t step, wants;
	const char *args;
	bool asked;			/* the program, whose answer is not
					   taken */
	uint64_t counted;		/* examples, of the last pass */
};

/* Which inputs a table is looked up by. */
static void
find_tables(struct compute *c)
{
	const struct model *m = c->model;

	for (size_t i = 0; i < m->groups; i++)
		for (size_t k = 0; k < m->group[i].variables; k++)
			c->weights[m->group[i].variable[k]].by = &m->group[i];
}

/* What an example needs, and how many go together. */
static void
count_floats(struct compute *c)
{
	const struct model *m = c->model;
	size_t weights = 0, room;
	bool whole = m->steps > 0;

	for (size_t i = 0; i < m->nodes; i++) {
		const struct node *n = m->node[i];

		whole = whole || (n->layer && n->layer->needs_whole_batch);
		c->values += n->scratch;
		if (n->input || buffer_plan_room(n) != n)
			continue;
		c->values += node_size(n);
		c->gradients += n->trained ? node_size(n) : 0;
	}
	for (size_t v = 0; v < m->variables; v++)
		if (!m->variable[v].table)
			weights += shape_size(m->variable[v].shape);
	room = (weights > CACHED ? ALL : CACHED) /
		(c->values + c->gradients + 1);
	c->block = whole ? SIZE_MAX : room > LEAST ? room : LEAST;
}

struct compute *
compute_new(const struct model *m, const struct externals *externals)
{
	struct compute *c = mem_alloc(1, sizeof(*c));
	const struct group *last = m->group + m->groups - 1;
	size_t edges = 0;

	kernel_one_thread();
	c->model = m;
	count_floats(c);
	c->feature = mem_alloc(m->inputs, sizeof(*c->feature));
	if (m->groups > 0)
		c->before = mem_alloc(last->first + last->features + 1,
				      sizeof(*c->before));
	c->pass = mem_alloc(m->nodes, sizeof(*c->pass));
	c->weights = mem_alloc(m->variables, sizeof(*c->weights));
	c->clip = mem_alloc(m->variables, sizeof(*c->clip));
	for (size_t i = 0; i < m->nodes; i++)
		edges += m->node[i]->ins;
	c->flow = mem_alloc(edges, sizeof(*c->flow));

	struct flow *flow = c->flow;

	for (size_t i = 0; i < m->nodes; i++) {
		c->pass[i] = (struct pass){ .node = m->node[i], .in = flow,
					    .variable = m->variable,
					    .externals = externals,
					    .failure = &c->failure };
		flow += m->node[i]->ins;
	}
	for (size_t v = 0; v < m->variables; v++)
		c->weights[v].width = shape_width(m->variable[v].shape);
	find_tables(c);
	c->program = mem_alloc(m->steps, sizeof(struct step_program *));
	for (size_t i = 0; i < m->steps; i++)
		c->program[i] = step_program_new(m, i, externals);
	c->value_at = mem_alloc(m->variables, sizeof(*c->value_at));
	c->gradient_at = mem_alloc(m->variables, sizeof(*c->gradient_at));
	return c;
}

void
compute_free(struct compute *c)
{
	if (!c)
		return;
	sorter_release(&c->sorter);
	for (size_t v = 0; v < c->model->variables; v++) {
		free(c->weights[v].value);
		free(c->weights[v].part);
		send_buffer_free(&c->weights[v].gradient);
	}
	free(c->feature);
	free(c->before);
	free(c->pass);
	free(c->flow);
	free(c->weights);
	free(c->clip);
	free(c->value);
	free(c->gradient);
	free(c->places);
	free(c->label);
	free(c->weight);
	for (size_t i = 0; i < c->model->steps; i++)
		step_program_free(c->program[i]);
	free(c->program);
	free(c->value_at);
	free(c->gradient_at);
	free(c);
}

/* Room for n floats; what was there need not be kept. */
static void
make_room(float **p, size_t *room, size_t n)
{
	if (n <= *room && *p)
		return;
	free(*p);
	*p = mem_alloc(n, sizeof(float));
	*room = n;
}

/* All of them behind each other; how many there are. */
static size_t
join(struct batch *b, const struct group *g, struct sorter *sorter)
{
	size_t at = 0;

	for (size_t i = 0; i < g->features; i++) {
		struct feature *x = &b->feature[g->feature[i]];
		const size_t n = feature_count(x, batch_examples(b, x));

		if (x->is_gathered)
			feature_spread(x, 0, n);
		ids_join(sorter, at, (struct ids){ x->id, x->high }, n);
		at += n;
	}
	return at;
}

/* One that came gathered serves as it is. */
static void
prepare(struct unique_ids *to, struct batch *b, const struct group *g,
	struct sorter *sorter)
{
	const struct feature *x = &b->feature[g->feature[0]];
	size_t n;

	if (g->features > 1) {
		n = join(b, g, sorter);
		input_gather(x->input, to, sorter, ids_joined(sorter), n);
	} else if (!x->is_gathered) {
		n = feature_count(x, batch_examples(b, x));
		input_gather(x->input, to, sorter,
			     (struct ids){ x->id, x->high }, n);
	}
}

void
compute_prepare(const struct model *m, struct batch *b, struct sorter *sorter)
{
	if (b->prepared)
		return;
	if (!b->gather)
		b->gather = mem_alloc(m->groups, sizeof(*b->gather));
	b->gathers = m->groups;
	for (size_t i = 0; i < m->groups; i++)
		prepare(&b->gather[i], b, &m->group[i], sorter);
	b->prepared = true;
}

/* The rows that the batch needs of a variable; NULL: all. */
static const struct unique_ids *
rows_of(const struct compute *c, const struct weights *w)
{
	const struct feature *x;

	if (!w->by)
		return NULL;
	x = &c->batch->feature[w->by->feature[0]];
	return x->is_gathered ? &x->gathered :
		&c->batch->gather[w->by - c->model->group];
}

/* Is it of the step line at hand? */
static bool
is_of_line(const struct compute *c, uint64_t lines)
{
	return lines >> c->line & 1;
}

bool
compute_uses(const struct compute *c, size_t v)
{
	const struct variable *variable = &c->model->variable[v];

	return !variable->unused && is_of_line(c, variable->lines);
}

bool
compute_trains(const struct compute *c, size_t v)
{
	const struct variable *variable = &c->model->variable[v];

	return !variable->unused && is_of_line(c, variable->trained_by);
}

/* That of the step at hand, if a program computes it; or NULL. */
static struct step_program *
program_of(const struct compute *c)
{
	return c->model->steps > 0 ? c->program[c->line] : NULL;
}

static size_t
count_rows(const struct compute *c, size_t v)
{
	const struct variable *variable = &c->model->variable[v];
	const struct unique_ids *some = rows_of(c, &c->weights[v]);

	if (!compute_uses(c, v))
		return 0;
	return some ? some->count : shape_rows(variable->shape);
}

static void
count_ids(struct compute *c)
{
	const struct model *m = c->model;

	for (const struct group *g = m->group; g < m->group + m->groups; g++) {
		size_t *before = c->before + g->first;

		before[0] = 0;
		for (size_t i = 0; i < g->features; i++) {
			const struct feature *x =
				&c->batch->feature[g->feature[i]];

			before[i + 1] = before[i] +
				feature_count(x, batch_examples(c->batch, x));
		}
	}
}

static void
make_weights(struct compute *c)
{
	const struct model *m = c->model;

	for (size_t v = 0; v < m->variables; v++) {
		struct weights *w = &c->weights[v];

		w->rows = count_rows(c, v);
		make_room(&w->value, &w->room, w->rows * w->width);
		send_buffer_room(&w->gradient, w->rows * w->width);
	}
}

/* Has one of these rows more than a few places? */
static bool
is_crowded(struct compute *c, const struct unique_ids *rows, size_t places)
{
	if (places <= FEW)
		return false;
	if (rows->count > c->places_room) {
		free(c->places);
		c->places_room = rows->count;
		c->places = mem_alloc(rows->count, sizeof(*c->places));
	}
	memset(c->places, 0, rows->count * sizeof(*c->places));
	for (size_t i = 0; i < places; i++)
		if (++c->places[rows->row[i]] > FEW)
			return true;
	return false;
}

static size_t
count_places(const struct batch *b, const struct group *g)
{
	size_t sum = 0;

	for (size_t i = 0; i < g->features; i++) {
		const struct feature *x = &b->feature[g->feature[i]];

		sum += feature_count(x, batch_examples(b, x));
	}
	return sum;
}

/* Of one data set, that is. */
static size_t
most_examples(const struct batch *b)
{
	size_t most = b->examples;

	for (size_t i = 0; i < b->datasets; i++)
		most = b->each[i] > most ? b->each[i] : most;
	return most;
}

/* Of a batch that is not large no row has many. */
static void
find_crowds(struct compute *c)
{
	const struct model *m = c->model;

	for (size_t v = 0; v < m->variables; v++)
		c->weights[v].crowded = false;
	for (size_t i = 0; i < m->groups && most_examples(c->batch) > FEW;
	     i++) {
		const struct group *g = &m->group[i];
		const bool crowded = is_crowded(c,
			rows_of(c, &c->weights[g->variable[0]]),
			count_places(c->batch, g));

		for (size_t k = 0; k < g->variables; k++)
			c->weights[g->variable[k]].crowded = crowded;
	}
}

/* What comes out of those that have room of their own, and inputs. */
static void
place(struct compute *c, struct pass *p, float **value, float **gradient)
{
	const struct node *n = p->node;
	const size_t examples = c->batch->each ?
		c->batch->each[n->dataset] : c->examples;
	const size_t floats = examples * node_size(n);

	p->first = c->first;
	p->examples = examples;
	p->label = &c->batch->label;
	p->labels = c->label + c->first;
	p->out = (struct flow){ .stride = buffer_plan_stride(n) };
	if (n->input) {
		const struct feature *feature = &c->feature[n->feature];

		p->out.value = feature->value;
		p->out.feature = node_ids(n) ? feature : NULL;
	} else if (buffer_plan_room(n) == n) {
		p->out.value = *value;
		*value += floats;
		if (n->trained) {
			p->out.gradient = *gradient;
			*gradient += floats;
		}
	}
	p->scratch = *value;
	*value += examples * n->scratch;
}

/* Which of the rows stand where the ids of this input do. */
static const uint32_t *
rows_at(const struct compute *c, const struct weights *w,
	const struct node *n)
{
	const size_t feature = n->in[0]->feature;

	return rows_of(c, w)->row + c->before[w->by->first + n->place] +
		c->first * input_width(c->feature[feature].input);
}

/* The others' numbers are in those; so are their gradients. */
static void
wire(struct compute *c, struct pass *p)
{
	const struct node *n = p->node;

	for (size_t k = 0; k < n->ins; k++)
		p->in[k] = c->pass[n->in[k]->index].out;
	for (size_t k = 0; k < n->variables; k++) {
		const struct weights *w = &c->weights[n->variable[k]];

		p->w[k] = w->value;
		p->dw[k] = w->gradient->at;
		if (w->by)
			p->in[0].row = rows_at(c, w, n);
	}
	if (n->home) {
		const struct flow *home = &c->pass[n->home->index].out;

		p->out.value = home->value + n->home_at;
		p->out.gradient = home->gradient + n->home_at;
	} else if (n->layer && buffer_plan_room(n) != n) {
		p->out = p->in[0];
	}
}

static void
read_labels(struct compute *c)
{
	const struct feature *label = &c->batch->label;
	const size_t examples = batch_examples(c->batch, label);

	make_room(&c->label, &c->label_room, examples);
	if (!label->input)
		return;
	for (size_t i = 0; i < examples; i++)
		c->label[i] = label->input->kind == INPUT_FLOAT ?
			      label->value[i] : (float)feature_id(label, i);
}

/* A weight of the example, times one of its class. */
static void
read_weights(struct compute *c)
{
	const struct model *m = c->model;
	const struct node *by = m->sample_weight;

	if (!c->batch->label.input || (!by && !m->class_weight))
		return;
	make_room(&c->weight, &c->weight_room, c->batch->examples);
	for (size_t i = 0; i < c->batch->examples; i++) {
		c->weight[i] = by ? c->batch->feature[by->feature].value[i] : 1;
		if (m->class_weight)
			c->weight[i] *= m->class_weight[(size_t)c->label[i]];
	}
}

void
compute_choose(struct compute *c, size_t line)
{
	c->line = line;
}

size_t
compute_line(const struct compute *c)
{
	return c->line;
}

uint64_t
compute_begun(const struct compute *c)
{
	return c->begun;
}

void
compute_begin(struct compute *c, struct batch *batch)
{
	compute_prepare(c->model, batch, &c->sorter);
	c->batch = batch;
	c->begun++;
	count_ids(c);
	make_weights(c);
	find_crowds(c);
	read_labels(c);
	read_weights(c);
}

struct compute_rows
compute_rows(const struct compute *c, size_t v)
{
	const struct weights *w = &c->weights[v];
	const struct unique_ids *some = rows_of(c, w);

	return (struct compute_rows){ some ? some->id : NULL, w->rows };
}

float *
compute_value(struct compute *c, size_t v)
{
	return c->weights[v].value;
}

float *
compute_gradient(struct compute *c, size_t v)
{
	return c->weights[v].gradient->at;
}

struct refcount *
compute_gradient_hold(const struct compute *c, size_t v)
{
	return &c->weights[v].gradient->hold;
}

/* n examples of the batch, from the first on, are at hand. */
static void
take_block(struct compute *c, size_t first, size_t n)
{
	const struct model *m = c->model;
	float *value, *gradient;

	c->first = first;
	c->examples = n;
	n = c->batch->each ? most_examples(c->batch) : n;
	make_room(&c->value, &c->value_room, n * c->values);
	make_room(&c->gradient, &c->gradient_room, n * c->gradients);
	for (size_t i = 0; i < m->inputs; i++)
		c->feature[i] = feature_from(&c->batch->feature[i], first);
	value = c->value;
	gradient = c->gradient;
	for (size_t i = 0; i < m->nodes; i++)
		place(c, &c->pass[i], &value, &gradient);
	for (size_t i = 0; i < m->nodes; i++)
		wire(c, &c->pass[i]);
}

/* Keras's penalties: l1 sum |w| + l2 sum w^2, of the rows at hand. */
static double
penalty(const struct variable *v, const struct weights *w)
{
	double l1 = 0, l2 = 0;

	for (size_t i = 0; i < w->rows * w->width; i++) {
		l1 += fabs((double)w->value[i]);
		l2 += (double)w->value[i] * (double)w->value[i];
	}
	return (double)v->l1 * l1 + (double)v->l2 * l2;
}

/* Which rows of a table a batch has is chance: no matter for a score. */
static bool
is_penalized(const struct compute *c, const struct variable *v)
{
	return (v->l1 > 0 || v->l2 > 0) && (c->training || !v->table);
}

/* Of the examples at hand; NULL: all count 1. */
static const float *
weights_at(const struct compute *c)
{
	return c->weight ? c->weight + c->first : NULL;
}

static void
forward(struct compute *c, uint64_t seed)
{
	const struct model *m = c->model;

	for (size_t i = 0; i < m->nodes; i++) {
		struct pass *p = &c->pass[i];

		p->training = c->training;
		p->seed = seed;
		breathe();
		if (p->node->layer && !p->node->layer->aliases_input &&
		    is_of_line(c, p->node->lines))
			p->node->layer->forward(p);
	}
}

/* Of the examples at hand. */
static void
add_loss(struct compute *c)
{
	const struct model *m = c->model;
	const struct node *end = m->loss_node;

	if (end && c->batch->label.input)
		c->loss += loss_sum(&m->loss, c->pass[end->index].out.value,
				    node_size(end), c->label + c->first,
				    weights_at(c), c->examples);
}

bool
compute_asks(const struct compute *c)
{
	return program_of(c) && (c->batch->examples > 0 ||
				 !model_reads(c->model, c->line));
}

/* What a model's line has a program compute, of all examples. */
static void
ask_program(struct compute *c, enum step_op op, uint64_t seed)
{
	const struct step_batch b = {
		.batch = c->batch, .pass = c->pass, .label = c->label,
		.value = c->value_at, .gradient = c->gradient_at,
		.step = c->step, .seed = seed, .wants = c->wants,
		.args = c->args
	};

	struct step_program *program = program_of(c);

	c->asked = false;
	if (!compute_asks(c) || c->failure.kind)
		return;
	for (size_t v = 0; v < c->model->variables; v++) {
		c->value_at[v] = c->weights[v].value;
		c->gradient_at[v] = c->weights[v].gradient->at;
	}
	c->asked = step_program_ask(program, op, &b, &c->failure) == 0;
}

static void
take_program(struct compute *c)
{
	struct step_program *program = program_of(c);

	if (!c->asked)
		return;
	c->asked = false;
	if (step_program_take(program, &c->failure) < 0)
		return;
	c->loss = step_program_loss(program);
	c->counted = step_program_examples(program);
}

/* Is there a loss of what is at hand, for penalties to be added to? */
static bool
has_loss(const struct compute *c)
{
	return program_of(c) || c->batch->label.input;
}

/* Of all examples. */
static double
penalties(const struct compute *c)
{
	const struct model *m = c->model;
	double sum = 0;

	for (size_t v = 0; v < m->variables && has_loss(c); v++)
		if (compute_trains(c, v) && is_penalized(c, &m->variable[v]))
			sum += penalty(&m->variable[v], &c->weights[v]);
	return (double)c->counted * sum;
}

/* No pass has been made of the batch yet. */
static void
begin_pass(struct compute *c, bool training)
{
	c->training = training;
	c->failure.kind = 0;
	c->loss = 0;
	c->counted = c->batch->examples;
}

static void
pass_forward(struct compute *c, enum step_op op)
{
	begin_pass(c, false);
	take_block(c, 0, c->batch->examples);
	forward(c, 0);
	add_loss(c);
	ask_program(c, op, 0);
	take_program(c);
	c->loss += penalties(c);
}

void
compute_forward(struct compute *c)
{
	pass_forward(c, STEP_EVALUATE);
}

void
compute_predict(struct compute *c)
{
	pass_forward(c, STEP_PREDICT);
}

uint64_t
compute_examples(const struct compute *c)
{
	return c->counted;
}

void
compute_step(struct compute *c, uint64_t step, uint64_t examples,
	     const char *args)
{
	c->step = step;
	c->wants = examples;
	c->args = args;
}

bool
compute_ended(const struct compute *c)
{
	return !c->failure.kind && program_of(c) &&
		step_program_ended(program_of(c));
}

struct text
compute_result(const struct compute *c)
{
	return program_of(c) ? *step_program_result(program_of(c)) :
		(struct text){ 0 };
}

double
compute_loss(const struct compute *c)
{
	return c->loss;
}

void
compute_set_loss(struct compute *c, double loss, uint64_t examples)
{
	c->failure.kind = 0;
	c->loss = loss;
	c->counted = examples;
}

void
compute_metrics(const struct compute *c, struct metric_state *state)
{
	const struct model *m = c->model;

	if (program_of(c)) {
		step_program_metrics(program_of(c), state);
		return;
	}
	for (size_t k = 0; k < m->metrics; k++) {
		const struct node *n = m->metric[k].logits ?
			m->metric_node[k]->in[0] : m->metric_node[k];

		metric_add(&m->metric[k], &state[k],
			   c->pass[n->index].out.value, node_size(n),
			   c->label + c->first, m->metric[k].weighted ?
			   weights_at(c) : NULL, c->examples);
	}
}

const float *
compute_prediction(const struct compute *c)
{
	return program_of(c) ? step_program_prediction(program_of(c)) :
		c->pass[c->model->prediction->index].out.value;
}

static void
add_penalty(const struct variable *v, const struct weights *w, float examples)
{
	for (size_t i = 0; i < w->rows * w->width; i++) {
		const float x = w->value[i];
		const float sign = (float)((x > 0) - (x < 0));

		w->gradient->at[i] += examples *
			(v->l1 * sign + 2 * v->l2 * x);
	}
}

/* Is this the first to come to the gradients of that node? */
static bool
begin_gradient(struct compute *c, const struct node *n)
{
	struct pass *p = &c->pass[buffer_plan_room(n)->index];
	const bool first = !p->begun;

	p->begun = true;
	return first;
}

/* Zeros to add to, unless somebody has come to it before. */
static void
zero_gradient(struct compute *c, const struct node *n)
{
	const struct node *room = buffer_plan_room(n);

	if (begin_gradient(c, n))
		memset(c->pass[room->index].out.gradient, 0,
		       c->pass[room->index].examples * node_size(room) *
		       sizeof(float));
}

/* Of a flow, from an example on. */
static struct flow
flow_from(struct flow flow, const struct feature *feature, size_t at)
{
	if (flow.feature)
		flow.feature = feature;
	if (flow.value)
		flow.value += at * flow.stride;
	if (flow.gradient)
		flow.gradient += at * flow.stride;
	return flow;
}

/* What stands in the parts of some rows goes to these. */
static void
add_parts(float *restrict to, float *restrict part, size_t width,
	  const uint32_t *row, size_t ids)
{
	for (size_t i = 0; i < ids; i++)
		for (size_t k = row[i] * width; k < (row[i] + 1) * width; k++) {
			to[k] += part[k];
			part[k] = 0;
		}
}

/* Some examples of a layer that has a table. */
static void
backward_part(const struct pass *p, struct weights *w, size_t at, size_t n)
{
	const size_t ids = input_width(p->in[0].feature->input);
	const struct feature feature = feature_from(p->in[0].feature, at);
	struct flow in[TABLE_INS];
	struct pass some = *p;
	struct bag first, last;

	some.first += at;
	some.examples = n;
	some.in = in;
	some.out = flow_from(p->out, NULL, at);
	some.scratch += at * p->node->scratch;
	some.dw[0] = w->part;
	for (size_t k = 0; k < p->node->ins; k++)
		in[k] = flow_from(p->in[k], &feature, at);
	in[0].row = p->in[0].row + at * ids;
	p->node->layer->backward(&some);
	first = flow_bag(&in[0], 0);
	last = flow_bag(&in[0], n - 1);
	add_parts(p->dw[0], w->part, w->width, in[0].row + first.first,
		  last.first + last.count - first.first);
}

/* A table's gradient in parts, so that a row that most examples have comes to
   what they add up to. */
static void
backward_by_parts(struct compute *c, const struct pass *p)
{
	struct weights *w = &c->weights[p->node->variable[0]];
	const size_t floats = w->rows * w->width;
	size_t some;

	if (floats > w->part_room) {
		free(w->part);
		w->part = mem_alloc(floats, sizeof(*w->part));
		w->part_room = floats;
	}
	for (size_t at = 0; at < p->examples; at += some) {
		some = p->examples - at < PART ? p->examples - at : PART;
		backward_part(p, w, at, some);
	}
}

static void
pass_backward(struct compute *c, const struct pass *p)
{
	const struct node *n = p->node;

	zero_gradient(c, n);	/* if nobody looks at it */
	for (size_t k = 0; k < n->ins; k++)
		if (p->in[k].gradient && n->layer->sets_fresh)
			p->in[k].fresh = begin_gradient(c, n->in[k]);
		else if (p->in[k].gradient)
			zero_gradient(c, n->in[k]);
	if (n->variables > 0 && c->weights[n->variable[0]].crowded)
		backward_by_parts(c, p);
	else
		n->layer->backward(p);
}

/* The slopes of the loss by what it is of. */
static void
begin_backward(struct compute *c)
{
	const struct model *m = c->model;
	const struct flow *end = &c->pass[m->loss_node->index].out;

	if (!end->gradient)
		return;
	zero_gradient(c, m->loss_node);
	loss_slopes(&m->loss, end->gradient, end->value,
		    node_size(m->loss_node), c->label + c->first,
		    weights_at(c), c->examples);
}

/* ... as a program has answered them. */
static void
take_gradients(struct compute *c)
{
	const struct step_line *s = &c->model->step[c->line];

	for (size_t i = 0; i < s->ins; i++)
		if (s->in[i] && s->in[i]->trained)
			zero_gradient(c, s->in[i]);
	step_program_add(program_of(c), c->pass);
}

static void
backward(struct compute *c)
{
	const struct model *m = c->model;

	for (size_t i = 0; i < m->nodes; i++)
		c->pass[i].begun = false;
	if (!program_of(c))
		begin_backward(c);
	else if (!c->failure.kind)
		take_gradients(c);
	for (size_t i = m->nodes; i > 0; i--) {
		const struct pass *p = &c->pass[i - 1];

		breathe();
		if (p->node->trained && !p->node->layer->aliases_input &&
		    is_of_line(c, p->node->lines))
			pass_backward(c, p);
	}
}

/* Examples of each block, all about as many. */
static size_t
block_size(const struct compute *c)
{
	const size_t all = c->batch->examples;
	const size_t blocks = all / c->block + (all % c->block > 0);

	return blocks > 0 ? (all + blocks - 1) / blocks : 1;
}

static void
begin_train(struct compute *c)
{
	const struct step_program *program = program_of(c);

	begin_pass(c, true);
	for (size_t v = 0; v < c->model->variables; v++)
		if (!program || !step_program_fills(program, v))
			memset(c->weights[v].gradient->at, 0,
			       c->weights[v].rows * c->weights[v].width *
			       sizeof(float));
}

static void
end_train(struct compute *c)
{
	const struct model *m = c->model;

	c->loss += penalties(c);
	for (size_t v = 0; v < m->variables; v++)
		if (m->variable[v].l1 > 0 || m->variable[v].l2 > 0)
			add_penalty(&m->variable[v], &c->weights[v],
				    (float)c->counted);
}

void
compute_train_ask(struct compute *c, uint64_t seed)
{
	begin_train(c);
	c->first = c->examples = 0;
	if (model_reads(c->model, c->line)) {
		take_block(c, 0, c->batch->examples);
		forward(c, seed);
	}
	ask_program(c, STEP_TRAIN, seed);
}

bool
compute_answered(const struct compute *c)
{
	return !c->asked || step_program_answered(program_of(c));
}

void
compute_train_take(struct compute *c, struct metric_state *state)
{
	take_program(c);
	if (state && !c->failure.kind)
		compute_metrics(c, state);
	if (model_reads(c->model, c->line))
		backward(c);
	end_train(c);
}

void
compute_train(struct compute *c, uint64_t seed, struct metric_state *state)
{
	const size_t all = c->batch->examples, most = block_size(c);

	if (compute_asks(c)) {
		compute_train_ask(c, seed);
		compute_train_take(c, state);
		return;
	}
	begin_train(c);
	for (size_t first = 0; first < all; first += c->examples) {
		take_block(c, first, all - first < most ? all - first : most);
		forward(c, seed);
		add_loss(c);
		if (state && !c->failure.kind)
			compute_metrics(c, state);
		backward(c);
	}
	end_train(c);
}

const struct fail *
compute_failure(const struct compute *c)
{
	return c->failure.kind ? &c->failure : NULL;
}

void
compute_clip(struct compute *c)
{
	const struct model *m = c->model;

	for (size_t v = 0; v < m->variables; v++)
		c->clip[v] = (struct gradient){
			.variable = &m->variable[v],
			.sum = c->weights[v].gradient->at,
			.rows = c->weights[v].rows,
			.width = c->weights[v].width
		};
	clip_gradients(c->clip, m->variables, c->counted);
}

int
compute_check(struct compute *c, struct fail *f)
{
	if (c->failure.kind) {
		*f = c->failure;
		return -1;
	}
	if (!isfinite(c->loss))
		return fail(f, FAIL_DATA, "the loss is %s" COMPUTE_ADVICE,
			    isnan(c->loss) ? "not a number" : "infinite");
	for (size_t v = 0; v < c->model->variables; v++) {
		struct weights *w = &c->weights[v];

		w->largest = kernel_largest(w->gradient->at,
					    w->rows * w->width);
		if (!isfinite(w->largest))
			return fail(f, FAIL_DATA, "the gradient of %s has "
				    "infinite numbers or NaNs" COMPUTE_ADVICE,
				    c->model->variable[v].name);
	}
	return 0;
}

/* Clipped ones have become smaller, if anything. */
bool
compute_beyond(const struct compute *c, size_t variable, float most)
{
	const struct weights *w = &c->weights[variable];

	return w->largest > most &&
		kernel_largest(w->gradient->at, w->rows * w->width) > most;
}

bool
compute_finite(const struct compute *c, size_t variable)
{
	const struct weights *w = &c->weights[variable];

	return c->model->variable[variable].unused ||
		kernel_finite(w->value, w->rows * w->width);
}

const char *
compute_infinite(const struct compute *c)
{
	for (size_t v = 0; v < c->model->variables; v++)
		if (!compute_finite(c, v))
			return c->model->variable[v].name;
	return NULL;
}
