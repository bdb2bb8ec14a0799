#include "model/compute.h"

#include "base/heartbeat.h"
#include "base/mem.h"
#include "base/send_buffer.h"
#include "model/block_rows.h"
#include "model/block_sum.h"
#include "model/buffer_plan.h"
#include "model/graph.h"
#include "model/layer.h"
#include "model/step_program.h"
#include "tensor/few.h"
#include "tensor/kernels.h"
#include "tensor/tree_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The number of floats that flow through the nodes, forward and back, for the
 * examples that are computed together.  CACHED floats stay in a processor's
 * cache.  Where the weights of all layers do not fit there, and are read from
 * memory for each part of the batch anyway, parts are larger, and ALL only
 * bounds the memory.
 */
#define CACHED		((size_t)1 << 19)
#define ALL		((size_t)1 << 25)
#define LEAST		256	/* examples of a part, at least: smaller matrix
				   products are slow */

/*
 * Examples of a block.  Adding its gradient to those of other blocks takes an
 * eighth as long as computing it, with 64 examples each, so blocks are larger;
 * and the large blocks of a large batch are still enough for as many threads.
 * Examples that need little work each, as in a linear model, form blocks that
 * are large enough for a thread.
 */
#define BLOCK		128
#define LARGE_BLOCK	256
#define LARGE_BATCH	4096
#define LEAST_WORK	((size_t)1 << 18)	/* work of a block, at least, in
						   numbers: see count_work() */
#define MOST_WORK	((size_t)1 << 22)	/* the same of an example, at
						   most, for blocks with
						   barriers */
#define RAGGED		16	/* ids of a ragged example, as a guess */

/*
 * A row may have FEW places in a batch for its gradient to be added up in
 * floats.  Beyond that a new term is so small beside the sum that its last
 * digits are lost, so the gradient is added up in parts of PART examples, and
 * then the parts.
 */
#define FEW		8192
#define PART		((size_t)512)
#define TABLE_INS	2	/* inputs of a layer that has a table, at
				   most */

/* The rows of one variable that a batch needs, and their gradient. */
struct weights {
	float *value;			/* rows x width */
	struct send_buffer *gradient;	/* rows x width; it is sent from this
					   memory, perhaps after this step */
	size_t rows, width, room;
	float largest;			/* largest absolute value of the
					   gradient when it was checked */
	bool crowded;			/* some row has more than FEW places in
					   the batch */
	float *part;			/* if crowded: what a part of the
					   examples adds to each leaf; zeros
					   between parts */
	size_t part_room;
	float *leaf;			/* a table's: the gradients of the
					   blocks, numbered as in block_rows */
	size_t leaf_room;
	size_t dense;			/* another variable's: where its
					   gradient begins in that of a block */
	bool is_set;			/* a layer sets that gradient, so it
					   need not be zeroed */
	const struct group *by;	/* a table's: the inputs that look it up; NULL:
				   not a table */
};

/* The examples of a batch that one member of a crew is computing. */
struct lane {
	struct pass *pass;		/* one for each node */
	struct flow *flow;		/* memory that .in of each pass points
					   into */
	struct feature *feature;	/* the batch's features, from the first
					   example on */
	size_t first, examples;		/* these examples of the batch */
	float *value, *gradient;	/* the numbers of all nodes, end to
					   end */
	size_t value_room, gradient_room;
	float *dense;			/* the gradient of the block at hand;
					   NULL: there is one block */
	bool fresh;			/* dense has no gradient yet */
};

/* The results of one of several blocks. */
struct block {
	double loss;
	struct metric_state *state;	/* one for each metric */
};

struct compute {
	const struct model *model;
	const struct externals *externals;
	const struct batch *batch;
	size_t values, gradients;	/* floats of an example */
	size_t some;			/* examples computed together */
	size_t *before;			/* for each feature of each group, the
					   number of ids of the group before its
					   own; see group->first */
	struct crew *crew;		/* borrowed; NULL: one thread */
	struct lane *lane;		/* one for each member */
	size_t lanes;
	struct fail failure;		/* of an external layer or a program, if
					   it has a kind */
	struct sorter sorter;
	struct weights *weights;	/* one for each variable */
	size_t dense;			/* floats of all variables but tables */
	struct gradient *clip;		/* one for each variable, for
					   clip_gradients() */
	uint64_t begun;			/* number of compute_begin()s */
	bool training;			/* of the last forward pass */
	double loss;			/* of the last forward pass */
	uint32_t *places;		/* a count for each row of a table */
	size_t places_room;
	float *label, *weight;		/* of each example; weight NULL: all
					   count 1 */
	size_t label_room, weight_room;
	struct step_program **program;	/* one for each step line */
	size_t line;			/* the step line at hand */
	float **value_at, **gradient_at;	/* of each variable, for the
						   program */
	uint64_t step, wants;
	struct text args;		/* empty: none */
	bool asked;			/* the program was asked, and its answer
					   not taken yet */
	uint64_t counted;		/* examples of the last pass */
	/* For a batch in several blocks: */
	struct block_sum *sum;
	struct block *block;		/* BLOCKS of them, once there were
					   several */
	struct lane *slice;		/* if some layer is a barrier: the lane
					   of each block, a slice of `whole` */
	struct lane *whole;		/* the lane of the whole batch */
	size_t from, to;		/* the nodes from ..  to - 1 are at
					   hand */
	size_t blocks, next;		/* next: the first block that no member
					   has taken */
	uint64_t seed;
	bool measured;			/* predictions are added to metrics */
};

/* Set weights.by of each table. */
static void
find_tables(struct compute *c)
{
	const struct model *m = c->model;

	for (size_t i = 0; i < m->groups; i++)
		for (size_t k = 0; k < m->group[i].variables; k++)
			c->weights[m->group[i].variable[k]].by = &m->group[i];
}

/*
 * Set the number of floats of an example, and of examples that are computed
 * together.
 */
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
	c->some = whole ? SIZE_MAX : room > LEAST ? room : LEAST;
}

/*
 * Return whether the layer sets the gradient of its weights.  It can, since no
 * other layer has the same weights: only tables are shared.
 */
static bool
sets_weights(const struct node *n)
{
	return n->layer && n->layer->sets_weights && !node_ids(n->in[0]);
}

/* Set where the gradient of each variable lies in the array of a block. */
static void
find_dense(struct compute *c)
{
	for (size_t v = 0; v < c->model->variables; v++) {
		const struct variable *variable = &c->model->variable[v];

		c->weights[v].dense = c->dense;
		if (!variable->table)
			c->dense += shape_size(variable->shape);
	}
	for (size_t i = 0; i < c->model->nodes; i++)
		if (sets_weights(c->model->node[i]))
			c->weights[c->model->node[i]->variable[0]].is_set =
				true;
}

static void
lane_begin(const struct compute *c, struct lane *l)
{
	const struct model *m = c->model;
	struct flow *flow;
	size_t edges = 0;

	l->feature = mem_alloc(m->inputs, sizeof(*l->feature));
	l->pass = mem_alloc(m->nodes, sizeof(*l->pass));
	for (size_t i = 0; i < m->nodes; i++)
		edges += m->node[i]->ins;
	l->flow = flow = mem_alloc(edges, sizeof(*l->flow));
	for (size_t i = 0; i < m->nodes; i++) {
		l->pass[i] = (struct pass){
			.node = m->node[i], .in = flow,
			.variable = m->variable, .externals = c->externals,
			.failure = (struct fail *)(uintptr_t)&c->failure
		};
		flow += m->node[i]->ins;
	}
}

static void
lane_release(struct lane *l)
{
	free(l->pass);
	free(l->flow);
	free(l->feature);
	free(l->value);
	free(l->gradient);
}

void
compute_share(struct compute *c, struct crew *crew)
{
	const size_t lanes = crew_members(crew);

	c->crew = crew;
	if (lanes <= c->lanes)
		return;
	c->lane = mem_resize(c->lane, lanes, sizeof(*c->lane));
	for (; c->lanes < lanes; c->lanes++) {
		c->lane[c->lanes] = (struct lane){ 0 };
		lane_begin(c, &c->lane[c->lanes]);
	}
}

struct compute *
compute_new(const struct model *m, const struct externals *externals)
{
	struct compute *c = mem_alloc(1, sizeof(*c));
	const struct group *last = m->group + m->groups - 1;

	kernel_one_thread();
	c->model = m;
	c->externals = externals;
	count_floats(c);
	if (m->groups > 0)
		c->before = mem_alloc(last->first + last->features + 1,
				      sizeof(*c->before));
	c->weights = mem_alloc(m->variables, sizeof(*c->weights));
	c->clip = mem_alloc(m->variables, sizeof(*c->clip));
	c->sum = block_sum_new();
	compute_share(c, NULL);
	for (size_t v = 0; v < m->variables; v++)
		c->weights[v].width = shape_width(m->variable[v].shape);
	find_tables(c);
	find_dense(c);
	c->program = mem_alloc(m->steps, sizeof(struct step_program *));
	for (size_t i = 0; i < m->steps; i++)
		c->program[i] = step_program_new(m, i, externals);
	c->value_at = mem_alloc(m->variables, sizeof(*c->value_at));
	c->gradient_at = mem_alloc(m->variables, sizeof(*c->gradient_at));
	return c;
}

static void
free_blocks(struct compute *c)
{
	for (size_t i = 0; c->block && i < BLOCKS; i++) {
		struct metric_state *state = c->block[i].state;

		for (size_t k = 0; state && k < c->model->metrics; k++)
			metric_release(&state[k]);
		free(state);
	}
	free(c->block);
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
		free(c->weights[v].leaf);
		send_buffer_free(&c->weights[v].gradient);
	}
	for (size_t i = 0; i < c->lanes; i++)
		lane_release(&c->lane[i]);
	free(c->lane);
	for (size_t i = 0; c->slice && i < BLOCKS; i++)
		lane_release(&c->slice[i]);
	free(c->slice);
	if (c->whole)
		lane_release(c->whole);
	free(c->whole);
	free_blocks(c);
	block_sum_free(c->sum);
	free(c->before);
	free(c->weights);
	free(c->clip);
	free(c->places);
	free(c->label);
	free(c->weight);
	for (size_t i = 0; i < c->model->steps; i++)
		step_program_free(c->program[i]);
	free(c->program);
	free(c->value_at);
	free(c->gradient_at);
	text_release(&c->args);
	free(c);
}

/* Make room for n floats; the content may be lost. */
static void
make_room(float **p, size_t *room, size_t n)
{
	if (n <= *room && *p)
		return;
	free(*p);
	*p = mem_alloc(n, sizeof(float));
	*room = n;
}

/*
 * Put the ids of all inputs of a group one behind the other; return their
 * number.
 */
static size_t
join_ids(struct batch *b, const struct group *g, struct sorter *sorter)
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

/*
 * Gather the ids of a group. A single input that came gathered is used as it
 * is.
 */
static void
prepare(struct unique_ids *to, struct batch *b, const struct group *g,
	struct sorter *sorter)
{
	const struct feature *x = &b->feature[g->feature[0]];
	size_t n;

	if (g->features > 1) {
		n = join_ids(b, g, sorter);
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
	b->blocks = 0;
	for (size_t i = 0; i < m->groups; i++)
		prepare(&b->gather[i], b, &m->group[i], sorter);
	b->prepared = true;
}

/* ---- blocks ---- */

/*
 * Return where block i begins when `all` things are cut into blocks of equal
 * size, up to one.
 */
static size_t
block_begin(size_t all, size_t blocks, size_t i)
{
	return all / blocks * i + all % blocks * i / blocks;
}

/*
 * Return about how many numbers are computed for an example.  A ragged input
 * counts as RAGGED ids.
 */
static size_t
count_work(const struct model *m)
{
	size_t work = 1;

	for (size_t v = 0; v < m->variables; v++)
		if (!m->variable[v].table)
			work += shape_size(m->variable[v].shape);
	for (size_t i = 0; i < m->nodes; i++) {
		const struct node *n = m->node[i];
		size_t ids;

		if (n->input)
			continue;
		work += node_size(n);
		if (n->variables == 0 || !m->variable[n->variable[0]].table)
			continue;
		ids = input_width(n->in[0]->input);
		work += (ids > 0 ? ids : RAGGED) *
			shape_width(m->variable[n->variable[0]].shape);
	}
	return work;
}

static bool
is_barrier(const struct node *n)
{
	return n->layer && n->layer->is_barrier;
}

static bool
has_barrier(const struct model *m)
{
	for (size_t i = 0; i < m->nodes; i++)
		if (is_barrier(m->node[i]))
			return true;
	return false;
}

/*
 * Return whether a batch is to be one block.  With barriers all blocks have
 * their gradients in memory at the same time, so large models are not cut.
 */
static bool
is_whole(const struct model *m, size_t work)
{
	for (size_t i = 0; i < m->nodes; i++)
		if (m->node[i]->layer &&
		    m->node[i]->layer->needs_whole_batch &&
		    !is_barrier(m->node[i]))
			return true;
	return m->steps > 0 || (work > MOST_WORK && has_barrier(m));
}

size_t
compute_blocks(const struct model *m, size_t examples)
{
	const size_t work = count_work(m);
	size_t least = work > CACHED || examples >= LARGE_BATCH ?
		LARGE_BLOCK : BLOCK;
	size_t blocks;

	if (least < LEAST_WORK / work)
		least = LEAST_WORK / work;
	blocks = is_whole(m, work) ? 1 : examples / least;
	return blocks < 1 ? 1 : blocks < BLOCKS ? blocks : BLOCKS;
}

static const struct unique_ids *
rows_of_group(const struct batch *b, const struct model *m,
	      const struct group *g)
{
	const struct feature *x = &b->feature[g->feature[0]];

	return x->is_gathered ? &x->gathered : &b->gather[g - m->group];
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

static void
prepare_blocks(struct block_rows *to, const struct batch *b,
	       const struct model *m, const struct group *g, size_t blocks)
{
	const struct unique_ids *rows = rows_of_group(b, m, g);

	block_rows_begin(to, rows, count_places(b, g), blocks);
	for (size_t k = 0; k < blocks; k++) {
		const size_t first = block_begin(b->examples, blocks, k);
		const size_t end = block_begin(b->examples, blocks, k + 1);
		size_t before = 0;

		for (size_t i = 0; i < g->features; i++) {
			const struct feature *x = &b->feature[g->feature[i]];
			const size_t from = feature_count(x, first);

			block_rows_add(to, rows, k, before + from,
				       feature_count(x, end) - from);
			before += feature_count(x, b->examples);
		}
	}
	block_rows_end(to, rows, blocks);
}

void
compute_prepare_blocks(const struct model *m, struct batch *b)
{
	const size_t blocks = compute_blocks(m, b->examples);

	if (b->blocks == blocks || blocks == 1)
		return;
	if (!b->block_rows)
		b->block_rows = mem_alloc(m->groups, sizeof(*b->block_rows));
	for (size_t i = 0; i < m->groups; i++)
		prepare_blocks(&b->block_rows[i], b, m, &m->group[i], blocks);
	b->blocks = blocks;
}

/* Return the rows of a variable that the batch needs; NULL: all. */
static const struct unique_ids *
rows_of(const struct compute *c, const struct weights *w)
{
	return w->by ? rows_of_group(c->batch, c->model, w->by) : NULL;
}

/* Return whether the step line at hand is among these lines. */
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

/* Return the program that computes the step at hand, or NULL. */
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

/* Return whether one of these rows has more than FEW places. */
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

/* Return the number of examples of the largest data set. */
static size_t
most_examples(const struct batch *b)
{
	size_t most = b->examples;

	for (size_t i = 0; i < b->datasets; i++)
		most = b->each[i] > most ? b->each[i] : most;
	return most;
}

/*
 * Find the tables with crowded rows.  In a batch of at most FEW examples no row
 * is taken for crowded.
 */
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

/* Set where a node's numbers lie if it is an input or has memory of its own. */
static void
set_node_buffers(const struct compute *c, const struct lane *l, struct pass *p,
		 float **value, float **gradient)
{
	const struct node *n = p->node;
	const size_t examples = c->batch->each ?
		c->batch->each[n->dataset] : l->examples;
	const size_t floats = examples * node_size(n);

	p->first = l->first;
	p->examples = examples;
	p->label = &c->batch->label;
	p->labels = c->label + l->first;
	p->out = (struct flow){ .stride = buffer_plan_stride(n) };
	if (n->input) {
		const struct feature *feature = &l->feature[n->feature];

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

/*
 * Return where the ids of the examples at hand, of this layer's input, begin
 * among the ids of its group.
 */
static size_t
places_at(const struct compute *c, const struct lane *l,
	  const struct weights *w, const struct node *n)
{
	const struct feature *x = &l->feature[n->in[0]->feature];

	return c->before[w->by->first + n->place] +
		l->first * input_width(x->input);
}

/* Return the rows of a table that each block needs. */
static struct block_rows *
block_rows_of(const struct compute *c, const struct weights *w)
{
	return &c->batch->block_rows[w->by - c->model->group];
}

static void
wire_table(const struct compute *c, const struct lane *l, struct pass *p,
	   const struct weights *w, size_t k)
{
	const size_t at = places_at(c, l, w, p->node);

	p->in[0].row = rows_of(c, w)->row + at;
	p->in[0].to = p->in[0].row;
	if (!l->dense)
		return;
	p->in[0].to = block_rows_of(c, w)->leaf + at;
	p->dw[k] = w->leaf;
}

/*
 * Set the inputs and variables of a node; and where its numbers lie if they are
 * in another node's memory.
 */
static void
set_node_inputs(const struct compute *c, const struct lane *l, struct pass *p)
{
	const struct node *n = p->node;

	for (size_t k = 0; k < n->ins; k++)
		p->in[k] = l->pass[n->in[k]->index].out;
	for (size_t k = 0; k < n->variables; k++) {
		const struct weights *w = &c->weights[n->variable[k]];

		p->w[k] = w->value;
		p->dw[k] = l->dense ? l->dense + w->dense : w->gradient->at;
		if (w->by)
			wire_table(c, l, p, w, k);
	}
	if (n->home) {
		const struct flow *home = &l->pass[n->home->index].out;

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

/*
 * The weight of an example is its sample weight times the weight of its class.
 */
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

/* Take n examples of the batch, from the first on. */
static void
begin_examples(const struct compute *c, struct lane *l, size_t first, size_t n)
{
	const struct model *m = c->model;
	float *value, *gradient;

	l->first = first;
	l->examples = n;
	n = c->batch->each ? most_examples(c->batch) : n;
	make_room(&l->value, &l->value_room, n * c->values);
	make_room(&l->gradient, &l->gradient_room, n * c->gradients);
	for (size_t i = 0; i < m->inputs; i++)
		l->feature[i] = feature_from(&c->batch->feature[i], first);
	value = l->value;
	gradient = l->gradient;
	for (size_t i = 0; i < m->nodes; i++)
		set_node_buffers(c, l, &l->pass[i], &value, &gradient);
	for (size_t i = 0; i < m->nodes; i++)
		set_node_inputs(c, l, &l->pass[i]);
}

/* Return Keras's penalty, l1 sum |w| + l2 sum w^2, of the rows at hand. */
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

/*
 * Which rows of a table a batch has is chance, so a score has no penalties for
 * tables.
 */
static bool
is_penalized(const struct compute *c, const struct variable *v)
{
	return (v->l1 > 0 || v->l2 > 0) && (c->training || !v->table);
}

/* Return the weights of the examples at hand; NULL: all count 1. */
static const float *
weights_at(const struct compute *c, const struct lane *l)
{
	return c->weight ? c->weight + l->first : NULL;
}

/* Compute the nodes first to end - 1. */
static void
forward_nodes(const struct compute *c, struct lane *l, uint64_t seed,
	      size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		struct pass *p = &l->pass[i];

		p->training = c->training;
		p->seed = seed;
		heartbeat();
		if (p->node->layer && !p->node->layer->aliases_input &&
		    is_of_line(c, p->node->lines))
			p->node->layer->forward(p);
	}
}

static void
forward(const struct compute *c, struct lane *l, uint64_t seed)
{
	forward_nodes(c, l, seed, 0, c->model->nodes);
}

/* Return the loss of the examples at hand; 0 if there is none. */
static double
loss_at(const struct compute *c, const struct lane *l)
{
	const struct model *m = c->model;
	const struct node *end = m->loss_node;

	return !end || !c->batch->label.input ? 0 :
		loss_sum(&m->loss, l->pass[end->index].out.value,
			 node_size(end), c->label + l->first,
			 weights_at(c, l), l->examples);
}

bool
compute_asks(const struct compute *c)
{
	return program_of(c) && (c->batch->examples > 0 ||
				 !model_reads(c->model, c->line));
}

/* Ask the program of the step line to compute all examples. */
static void
ask_program(struct compute *c, enum step_op op, uint64_t seed)
{
	const struct step_batch b = {
		.batch = c->batch, .pass = c->lane->pass, .label = c->label,
		.value = c->value_at, .gradient = c->gradient_at,
		.step = c->step, .seed = seed, .wants = c->wants,
		.args = c->args.size > 0 ? c->args.data : NULL
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

/* Return whether there is a loss for penalties to be added to. */
static bool
has_loss(const struct compute *c)
{
	return program_of(c) || c->batch->label.input;
}

/* Return the penalties times the number of examples. */
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

/* Begin a pass over the batch: reset its results. */
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
	begin_examples(c, c->lane, 0, c->batch->examples);
	forward(c, c->lane, 0);
	c->loss += loss_at(c, c->lane);
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
	text_reset(&c->args);
	text_add(&c->args, "%s", args ? args : "");
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

/* Add the predictions for the examples at hand to the metrics. */
static void
add_metrics(const struct compute *c, const struct lane *l,
	    struct metric_state *state)
{
	const struct model *m = c->model;

	for (size_t k = 0; k < m->metrics; k++) {
		const struct node *n = m->metric[k].logits ?
			m->metric_node[k]->in[0] : m->metric_node[k];

		metric_add(&m->metric[k], &state[k],
			   l->pass[n->index].out.value, node_size(n),
			   c->label + l->first, m->metric[k].weighted ?
			   weights_at(c, l) : NULL, l->examples);
	}
}

void
compute_metrics(const struct compute *c, struct metric_state *state)
{
	if (program_of(c))
		step_program_metrics(program_of(c), state);
	else
		add_metrics(c, c->lane, state);
}

const float *
compute_prediction(const struct compute *c)
{
	return program_of(c) ? step_program_prediction(program_of(c)) :
		c->lane->pass[c->model->prediction->index].out.value;
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

/* Return whether this is the first use of a node's gradient, and record it. */
static bool
begin_gradient(struct lane *l, const struct node *n)
{
	struct pass *p = &l->pass[buffer_plan_room(n)->index];
	const bool first = !p->begun;

	p->begun = true;
	return first;
}

/* Zero the gradient of a node to be added to, unless it was used already. */
static void
zero_gradient(struct lane *l, const struct node *n)
{
	const struct node *room = buffer_plan_room(n);

	if (begin_gradient(l, n))
		memset(l->pass[room->index].out.gradient, 0,
		       l->pass[room->index].examples * node_size(room) *
		       sizeof(float));
}

/* Return a flow from an example on. */
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

/*
 * Move what w->part has for some rows to these rows, and zero it.  A row may
 * come more than once.
 */
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

/*
 * Compute the gradient of n examples, from at on, of a layer that has a table.
 */
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
	in[0].to = p->in[0].to + at * ids;
	p->node->layer->backward(&some);
	first = flow_bag(&in[0], 0);
	last = flow_bag(&in[0], n - 1);
	add_parts(p->dw[0], w->part, w->width, in[0].to + first.first,
		  last.first + last.count - first.first);
}

/*
 * Compute a table's gradient in parts, so that the sum for a row that most
 * examples have is exact enough; see FEW.
 */
static void
backward_by_parts(const struct compute *c, const struct pass *p)
{
	struct weights *w = &c->weights[p->node->variable[0]];
	size_t some;

	for (size_t at = 0; at < p->examples; at += some) {
		some = p->examples - at < PART ? p->examples - at : PART;
		backward_part(p, w, at, some);
	}
}

static void
pass_backward(const struct compute *c, struct lane *l, const struct pass *p)
{
	const struct node *n = p->node;

	zero_gradient(l, n);	/* if no other node reads it */
	for (size_t k = 0; k < n->ins; k++)
		if (p->in[k].gradient && n->layer->sets_fresh)
			p->in[k].fresh = begin_gradient(l, n->in[k]);
		else if (p->in[k].gradient)
			zero_gradient(l, n->in[k]);
	if (n->variables > 0 && c->weights[n->variable[0]].crowded &&
	    p->examples > PART)
		backward_by_parts(c, p);
	else
		n->layer->backward(p);
}

/*
 * Set the gradient of the loss with respect to the node that it is computed
 * from.
 */
static void
begin_backward(const struct compute *c, struct lane *l)
{
	const struct model *m = c->model;
	const struct flow *end = &l->pass[m->loss_node->index].out;

	if (!end->gradient)
		return;
	zero_gradient(l, m->loss_node);
	loss_slopes(&m->loss, end->gradient, end->value,
		    node_size(m->loss_node), c->label + l->first,
		    weights_at(c, l), l->examples);
}

/* Set the gradients that a program has answered. */
static void
take_gradients(const struct compute *c, struct lane *l)
{
	const struct step_line *s = &c->model->step[c->line];

	for (size_t i = 0; i < s->ins; i++)
		if (s->in[i] && s->in[i]->trained)
			zero_gradient(l, s->in[i]);
	step_program_add(program_of(c), l->pass);
}

/* Compute the gradients of the nodes end - 1 back to first. */
static void
backward_nodes(const struct compute *c, struct lane *l, size_t first,
	       size_t end)
{
	for (size_t i = end; i > first; i--) {
		const struct pass *p = &l->pass[i - 1];

		heartbeat();
		l->pass[i - 1].fresh = l->fresh && sets_weights(p->node);
		if (p->node->trained && !p->node->layer->aliases_input &&
		    is_of_line(c, p->node->lines))
			pass_backward(c, l, p);
	}
}

static void
begin_gradients(const struct compute *c, struct lane *l)
{
	for (size_t i = 0; i < c->model->nodes; i++)
		l->pass[i].begun = false;
	if (!program_of(c))
		begin_backward(c, l);
	else if (!c->failure.kind)
		take_gradients(c, l);
}

static void
backward(const struct compute *c, struct lane *l)
{
	begin_gradients(c, l);
	backward_nodes(c, l, 0, c->model->nodes);
}

/* ---- training ---- */

/* Train with these examples, a part at a time; return the sum of their loss. */
static double
train(struct compute *c, struct lane *l, size_t first, size_t examples,
      struct metric_state *state)
{
	const size_t runs = examples / c->some + (examples % c->some > 0);
	const size_t most = runs > 0 ? (examples + runs - 1) / runs : 1;
	const size_t begun = first, end = first + examples;
	double loss = 0;

	for (; first < end; first += l->examples) {
		begin_examples(c, l, first, end - first < most ? end - first :
			       most);
		l->fresh = l->dense && first == begun;
		forward(c, l, c->seed);
		loss += loss_at(c, l);
		if (state && !c->failure.kind)
			add_metrics(c, l, state);
		backward(c, l);
	}
	return loss;
}

static void
begin_parts(struct compute *c)
{
	for (size_t v = 0; v < c->model->variables; v++) {
		struct weights *w = &c->weights[v];
		const size_t floats = w->width * (!w->crowded ? 0 :
			c->blocks > 1 ? block_rows_of(c, w)->leaves : w->rows);

		if (floats <= w->part_room)
			continue;
		free(w->part);
		w->part = mem_alloc(floats, sizeof(*w->part));
		w->part_room = floats;
	}
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
	c->lane->first = c->lane->examples = 0;
	if (model_reads(c->model, c->line)) {
		begin_examples(c, c->lane, 0, c->batch->examples);
		forward(c, c->lane, seed);
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
		backward(c, c->lane);
	end_train(c);
}

/* ---- training in blocks ---- */

static void
begin_blocks(struct compute *c)
{
	const struct model *m = c->model;

	if (!c->block)
		c->block = mem_alloc(BLOCKS, sizeof(*c->block));
	for (size_t i = 0; i < c->blocks; i++) {
		struct block *b = &c->block[i];

		if (!b->state)
			b->state = mem_alloc(m->metrics, sizeof(*b->state));
		for (size_t k = 0; k < m->metrics; k++)
			metric_reset(&b->state[k]);
	}
	for (size_t v = 0; v < m->variables; v++) {
		struct weights *w = &c->weights[v];

		if (w->by && w->rows > 0)
			make_room(&w->leaf, &w->leaf_room, w->width *
				  block_rows_of(c, w)->leaves);
	}
	block_sum_begin(c->sum, c->crew, c->blocks, c->dense);
	c->next = 0;
}

/* Zero the gradients of a block's rows of tables, to be added to. */
static void
zero_leaves(const struct compute *c, size_t block)
{
	for (size_t v = 0; v < c->model->variables; v++) {
		const struct weights *w = &c->weights[v];
		const size_t *first = w->by && w->rows > 0 ?
			block_rows_of(c, w)->first + block : NULL;

		if (first)
			memset(w->leaf + first[0] * w->width, 0,
			       (first[1] - first[0]) * w->width *
			       sizeof(*w->leaf));
	}
}

/*
 * Zero a block's gradients of dense variables, except those that a layer sets.
 */
static void
zero_dense(const struct compute *c, const struct lane *l)
{
	for (size_t v = 0; v < c->model->variables; v++) {
		const struct weights *w = &c->weights[v];

		if (!w->by && !w->is_set)
			memset(l->dense + w->dense, 0, w->rows * w->width *
			       sizeof(*l->dense));
	}
}

static void
train_blocks(void *self, size_t member)
{
	struct compute *c = self;
	struct lane *l = &c->lane[member];
	size_t i;

	while ((i = crew_take(c->crew, &c->next, c->blocks)) < c->blocks) {
		const size_t all = c->batch->examples;
		const size_t first = block_begin(all, c->blocks, i);

		l->dense = block_sum_room(c->sum);
		zero_leaves(c, i);
		zero_dense(c, l);
		c->block[i].loss =
			train(c, l, first, block_begin(all, c->blocks, i + 1) -
			      first, c->measured ? c->block[i].state : NULL);
		block_sum_add(c->sum, i, l->dense);
		l->dense = NULL;
	}
}

/* ---- training in blocks that wait for each other at barriers ---- */

/*
 * Set where the numbers of node n lie for the examples at hand: within those of
 * the whole batch.
 */
static void
place_slice(const struct compute *c, struct lane *l, const struct node *n)
{
	const struct pass *whole = &c->whole->pass[n->index];
	struct pass *p = &l->pass[n->index];

	p->first = l->first;
	p->examples = l->examples;
	p->label = whole->label;
	p->labels = whole->labels + l->first;
	p->scratch = whole->scratch + l->first * n->scratch;
	p->out = (struct flow){ .stride = whole->out.stride };
	if (n->input && node_ids(n))
		p->out.feature = &l->feature[n->feature];
	else if (n->input)
		p->out.value = l->feature[n->feature].value;
	else if (buffer_plan_room(n) == n)
		p->out = flow_from(whole->out, NULL, l->first);
}

static void
begin_slices(void *self, size_t member)
{
	struct compute *c = self;
	const struct model *m = c->model;
	const size_t all = c->batch->examples;
	size_t i;

	(void)member;
	while ((i = crew_take(c->crew, &c->next, c->blocks)) < c->blocks) {
		struct lane *l = &c->slice[i];

		l->first = block_begin(all, c->blocks, i);
		l->examples = block_begin(all, c->blocks, i + 1) - l->first;
		l->fresh = true;
		zero_leaves(c, i);
		zero_dense(c, l);
		for (size_t k = 0; k < m->inputs; k++)
			l->feature[k] = feature_from(&c->batch->feature[k],
						     l->first);
		for (size_t k = 0; k < m->nodes; k++)
			place_slice(c, l, m->node[k]);
		for (size_t k = 0; k < m->nodes; k++)
			set_node_inputs(c, l, &l->pass[k]);
	}
}

static void
forward_slices(void *self, size_t member)
{
	struct compute *c = self;
	size_t i;

	(void)member;
	while ((i = crew_take(c->crew, &c->next, c->blocks)) < c->blocks) {
		struct lane *l = &c->slice[i];
		struct block *b = &c->block[i];

		forward_nodes(c, l, c->seed, c->from, c->to);
		if (c->to < c->model->nodes)
			continue;
		b->loss = loss_at(c, l);
		if (c->measured)
			add_metrics(c, l, b->state);
		begin_gradients(c, l);
	}
}

/*
 * Compute the gradients of the nodes between two barriers.  The barrier in
 * front adds to gradients of all blocks, so these are zeroed here, in parallel.
 */
static void
backward_slices(void *self, size_t member)
{
	struct compute *c = self;
	const struct node *barrier = c->from > 0 ?
		c->model->node[c->from - 1] : NULL;
	size_t i;

	(void)member;
	while ((i = crew_take(c->crew, &c->next, c->blocks)) < c->blocks) {
		struct lane *l = &c->slice[i];

		backward_nodes(c, l, c->from, c->to);
		if (!barrier) {
			block_sum_add(c->sum, i, l->dense);
			continue;
		}
		zero_gradient(l, barrier);
		for (size_t k = 0; k < barrier->ins; k++)
			if (l->pass[barrier->index].in[k].gradient)
				zero_gradient(l, barrier->in[k]);
	}
}

static void
run_slices(struct compute *c, void (*work)(void *, size_t), size_t from,
	   size_t to)
{
	c->from = from;
	c->to = to;
	c->next = 0;
	crew_run(c->crew, work, c);
}

static void
take_slices(struct compute *c)
{
	if (!c->slice) {
		c->slice = mem_alloc(BLOCKS, sizeof(*c->slice));
		c->whole = mem_alloc(1, sizeof(*c->whole));
		lane_begin(c, c->whole);
	}
	for (size_t i = 0; i < c->blocks; i++) {
		if (!c->slice[i].pass)
			lane_begin(c, &c->slice[i]);
		c->slice[i].dense = block_sum_room(c->sum);
	}
	/* A barrier's own gradients are added to those of the first block. */
	c->whole->dense = c->slice->dense;
	begin_examples(c, c->whole, 0, c->batch->examples);
	run_slices(c, begin_slices, 0, 0);
}

static void
train_slices(struct compute *c)
{
	const struct model *m = c->model;
	size_t from = 0, to = m->nodes;

	take_slices(c);
	for (size_t i = 0; i < m->nodes; i++) {
		if (!is_barrier(m->node[i]))
			continue;
		run_slices(c, forward_slices, from, i);
		forward_nodes(c, c->whole, c->seed, i, i + 1);
		from = i + 1;
	}
	run_slices(c, forward_slices, from, m->nodes);
	for (size_t i = m->nodes; i > 0; i--) {
		const struct node *n = m->node[i - 1];

		if (!is_barrier(n))
			continue;
		run_slices(c, backward_slices, i, to);
		if (n->trained)
			n->layer->backward(&c->whole->pass[i - 1]);
		to = i - 1;
	}
	run_slices(c, backward_slices, 0, to);
}

/* ---- the sum of the blocks ---- */

#define TASKS	64	/* ranges of rows of a variable, for the members to
			   take */

/* Add up the leaves of the rows first to end - 1 of a table. */
static void
add_leaves(const struct weights *w, const struct block_rows *rows,
	   size_t first, size_t end, float *room)
{
	float *to = w->gradient->at + first * w->width;

	for (size_t i = first; i < end; i++, to += w->width) {
		struct tree_leaf leaf[BLOCKS];
		size_t n = 0;

		for (uint32_t k = rows->start[i]; k < rows->start[i + 1]; k++)
			leaf[n++] = (struct tree_leaf){
				rows->by_row[k].block,
				w->leaf + rows->by_row[k].number * w->width
			};
		if (n == 1)
			few_copy(to, leaf->from, w->width);
		else if (n > 0)
			tree_sum(to, leaf, n, w->width, room);
	}
}

static void
add_rows(void *self, size_t member)
{
	struct compute *c = self;
	const size_t tasks = TASKS * c->model->variables;
	float *room = NULL;
	size_t task, floats = 0;

	(void)member;
	while ((task = crew_take(c->crew, &c->next, tasks)) < tasks) {
		const struct weights *w = &c->weights[task / TASKS];
		const size_t first = block_begin(w->rows, TASKS, task % TASKS);
		const size_t end = block_begin(w->rows, TASKS,
					       task % TASKS + 1);

		if (!w->by || first == end)
			continue;
		make_room(&room, &floats, tree_levels(BLOCKS - 1) * w->width);
		add_leaves(w, block_rows_of(c, w), first, end, room);
	}
	free(room);
}

/*
 * Add up the losses and metrics in pairs of blocks, pairs of pairs, and so on:
 * the first block has the sum of all in the end.
 */
static void
add_blocks(struct compute *c, struct metric_state *state)
{
	const struct model *m = c->model;

	for (size_t step = 1; step < c->blocks; step *= 2)
		for (size_t i = 0; i + step < c->blocks; i += 2 * step) {
			struct block *b = &c->block[i];

			b->loss += c->block[i + step].loss;
			for (size_t k = 0; k < m->metrics; k++)
				metric_merge(&m->metric[k], &b->state[k],
					     &c->block[i + step].state[k]);
		}
	c->loss += c->block->loss;
	for (size_t k = 0; state && k < m->metrics; k++)
		metric_merge(&m->metric[k], &state[k], &c->block->state[k]);
}

static void
take_dense(struct compute *c)
{
	const float *sum = block_sum_all(c->sum);

	for (size_t v = 0; v < c->model->variables; v++) {
		struct weights *w = &c->weights[v];

		if (!w->by)
			memcpy(w->gradient->at, sum + w->dense,
			       w->rows * w->width * sizeof(*sum));
	}
}

void
compute_train(struct compute *c, uint64_t seed, struct metric_state *state)
{
	if (compute_asks(c)) {
		compute_train_ask(c, seed);
		compute_train_take(c, state);
		return;
	}
	c->seed = seed;
	c->measured = state != NULL;
	c->blocks = compute_blocks(c->model, c->batch->examples);
	if (c->blocks > 1)
		compute_prepare_blocks(c->model, (struct batch *)(uintptr_t)
				       c->batch);
	begin_parts(c);
	if (c->blocks == 1) {
		begin_train(c);
		c->loss += train(c, c->lane, 0, c->batch->examples, state);
	} else {
		begin_pass(c, true);
		begin_blocks(c);
		if (has_barrier(c->model))
			train_slices(c);
		else
			crew_run(c->crew, train_blocks, c);
		c->next = 0;
		crew_run(c->crew, add_rows, c);
		take_dense(c);
		add_blocks(c, state);
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

/* Clipping only makes numbers smaller, so the maximum before it is a bound. */
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
