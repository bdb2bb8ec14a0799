/*
 * layer_external - a layer that a program of the user's computes: see
 * ps-external(5).
 *
 * All examples of a batch are one call forward and one backward; the program
 * may keep what it needs from the first for the second.  After a call that
 * failed the step is lost, and no further call is made.
 *
 * The numbers of a layer with several outputs have all outputs side by side;
 * each output is a node, which copies its part.
 */
#include "model/layer.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "model/external_inputs.h"
#include "model/parse.h"
#include "tensor/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON readers represent whole numbers of this size exactly. */
#define SEED_BITS	53

#define OUTPUTS		32	/* outputs of a layer, at most */

struct output {
	char name[NODE_NAME];
	struct shape shape;
	size_t at;		/* where it begins in the numbers of an
				   example */
};

struct private {
	uint64_t stream;
	struct output output[OUTPUTS];
	size_t outputs;		/* 1: the layer's own numbers are the output */
};

/* The private part of the node of one output. */
struct part {
	size_t at;
};

/* ---- variables and outputs ---- */

/*
 * Find a variable that has a line of its own; -1: there is none.  Every
 * variable of a layer has a slash in its name.
 */
static int
find_variable(const struct model *m, const char *name)
{
	const struct variable *v = strchr(name, '/') ? NULL :
		model_variable(m, name);

	return v ? (int)(v - m->variable) : -1;
}

static int
take_variable(struct model *m, struct node *n, const char *name,
	      struct fail *f)
{
	const int v = find_variable(m, name);

	if (v < 0)
		return fail(f, FAIL_CONFIG, "%s: %s: variables: there is no "
			    "line 'variable %s SHAPE' above", n->where,
			    n->name, name);
	for (size_t i = 0; i < n->variables; i++)
		if (n->variable[i] == (size_t)v)
			return fail(f, FAIL_CONFIG, "%s: %s: variables: %s "
				    "comes twice", n->where, n->name, name);
	if (m->variable[v].averaged)
		return fail(f, FAIL_CONFIG, "%s: %s: variables: %s is not "
			    "trainable, and only a step line's program "
			    "computes such", n->where, n->name, name);
	if (n->variables == NODE_VARIABLES)
		return fail(f, FAIL_CONFIG, "%s: %s: variables: there are "
			    "more than %d", n->where, n->name,
			    NODE_VARIABLES);
	m->variable[v].unused = false;
	n->variable[n->variables++] = (size_t)v;
	return 0;
}

static int
take_variables(struct model *m, struct node *n, struct settings *s,
	       struct fail *f)
{
	const char *text = settings_text(s, "variables");
	char *copy = mem_text(text ? text : "");
	size_t count;
	char **name = text_split(copy, ',', &count);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++)
		status = take_variable(m, n, name[i], f);
	free(name);
	free(copy);
	return status;
}

static int
add_output(struct node *n, const char *name, size_t size, struct shape shape,
	   struct fail *f)
{
	struct private *own = n->private;
	struct output *o = &own->output[own->outputs];

	if (own->outputs == OUTPUTS)
		return fail(f, FAIL_CONFIG, "%s: %s: outputs: there are more "
			    "than %d", n->where, n->name, OUTPUTS - 1);
	if (own->outputs > 0)
		o->at = o[-1].at + shape_size(o[-1].shape);
	snprintf(o->name, sizeof(o->name), "%.*s", (int)size, name);
	o->shape = shape;
	own->outputs++;
	return 0;
}

/*
 * Read "name[3,4],other[8]": the outputs behind the first, which is the layer
 * itself.
 */
static int
take_outputs(struct node *n, struct settings *s, struct fail *f)
{
	const char *text = settings_text(s, "outputs"), *at = text;

	if (add_output(n, n->name, strlen(n->name), n->shape, f) < 0)
		return -1;
	while (at) {
		const size_t size = strcspn(at, "[,"), all = strcspn(at, "]");
		char *dims = mem_text_n(at + size, all + 1 - size);
		struct shape shape;
		const bool good = size > 0 && size < NODE_NAME &&
			at[size] == '[' && at[all] == ']' &&
			(at[all + 1] == ',' || at[all + 1] == '\0') &&
			parse_shape(dims, &shape) && shape.rank > 0 &&
			shape_sound(&shape) &&
			shape_size(shape) <= NODE_FLOATS;

		free(dims);
		if (!good)
			return fail(f, FAIL_CONFIG, "%s: %s: outputs=%s is "
				    "not like name[3,4],other[8]", n->where,
				    n->name, text);
		if (add_output(n, at, size, shape, f) < 0)
			return -1;
		at = at[all + 1] == ',' ? at + all + 2 : NULL;
	}
	return 0;
}

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	const struct output *last;

	own->stream = hash64(n->name, strlen(n->name));
	if (node_shape(n, "shape", s, f) || take_outputs(n, s, f) < 0 ||
	    take_variables(m, n, s, f) < 0)
		return -1;
	last = &own->output[own->outputs - 1];
	if (own->outputs > 1)
		n->shape = (struct shape){ 1, { last->at +
			shape_size(last->shape) } };
	return 0;
}

static const char *
output_name(const struct node *n, size_t k)
{
	const struct private *own = n->private;

	return own->outputs > 1 && k < own->outputs ? own->output[k].name :
		NULL;
}

/* ---- a batch ---- */

static struct external_array
numbers_of(const struct pass *p, const struct node *n, float *at)
{
	return (struct external_array){ .name = n->name,
					.examples = p->examples,
					.shape = n->shape, .at = at };
}

static struct external_array
variable_of(const struct pass *p, size_t k, float *at)
{
	const struct variable *v = &p->variable[p->node->variable[k]];

	return (struct external_array){ .name = v->name, .shape = v->shape,
					.at = at };
}

static int
call(const struct pass *p, struct external_call *c)
{
	const struct private *own = p->node->private;

	c->name = p->node->name;
	c->training = p->training;
	c->seed = rng_at(p->seed, own->stream, 0) >> (64 - SEED_BITS);
	if (p->failure->kind)
		return -1;
	if (externals_call(p->externals, c, p->failure) == 0)
		return 0;
	return fail_at(p->failure, "%s: %s", p->node->where, p->node->name);
}

/* ---- outputs ---- */

/*
 * Describe the outputs as arrays.  In the layer's numbers each example has all
 * outputs in a row, but an array has one output for all examples.  Of a single
 * output the two are the same.
 */
static void
output_arrays(const struct pass *p, float *at, struct external_array *to)
{
	const struct private *own = p->node->private;

	for (size_t k = 0; k < own->outputs; k++) {
		const struct output *o = &own->output[k];

		to[k] = (struct external_array){
			.name = o->name, .examples = p->examples,
			.shape = o->shape, .at = at + p->examples * o->at };
	}
}

/* Copy all outputs of all examples from arrays into rows, or back. */
static void
copy_outputs(const struct pass *p, float *rows, float *arrays, bool back)
{
	const struct private *own = p->node->private;
	const size_t width = node_size(p->node);

	for (size_t k = 0; k < own->outputs; k++) {
		const size_t n = shape_size(own->output[k].shape);
		float *array = arrays + p->examples * own->output[k].at;

		for (size_t i = 0; i < p->examples; i++) {
			float *row = rows + i * width + own->output[k].at;

			memcpy(back ? array + i * n : row,
			       back ? row : array + i * n, n * sizeof(float));
		}
	}
}

/* ---- forward ---- */

static bool
label_has_ids(const struct pass *p)
{
	return p->label->input && p->label->input->kind != INPUT_FLOAT;
}

static void
send_label(const struct pass *p, struct external_inputs *e)
{
	const struct input *label = p->label->input;
	const struct shape one = { 0 };

	if (!label)
		return;		/* there are no labels in prediction */
	if (label_has_ids(p))
		external_inputs_add_ids(e, label->name, p->label,
					p->examples);
	else
		external_inputs_add_floats(e, label->name, one, p->labels,
					   p->examples);
}

/* Send the inputs in their order, and then the variables. */
static void
send(const struct pass *p, struct external_inputs *e)
{
	const struct node *n = p->node;
	size_t ids = n->label > 0 && label_has_ids(p) ?
		external_inputs_ids(p->label, p->examples) : 0;

	for (size_t k = 0; k < n->ins; k++)
		if (p->in[k].feature)
			ids += external_inputs_ids(p->in[k].feature,
						   p->examples);
	external_inputs_open(e, n->ins + 1, n->variables);
	external_inputs_begin(e, ids);
	for (size_t k = 0; k < n->ins; k++) {
		if (n->label == k + 1)
			send_label(p, e);
		if (p->in[k].feature)
			external_inputs_add_ids(e, n->in[k]->name,
						p->in[k].feature,
						p->examples);
		else
			external_inputs_add_floats(e, n->in[k]->name,
						   n->in[k]->shape,
						   p->in[k].value,
						   p->examples);
	}
	if (n->label == n->ins + 1)
		send_label(p, e);
	for (size_t k = 0; k < n->variables; k++)
		e->array[e->count++] = variable_of(p, k, p->w[k]);
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t floats = p->examples * node_size(p->node);
	struct external_array wanted[OUTPUTS];
	float *room = own->outputs == 1 ? p->out.value :
		mem_alloc(floats, sizeof(float));
	struct external_inputs e;
	struct external_call c = { .op = "forward", .wanted = wanted,
				   .wanteds = own->outputs };

	send(p, &e);
	output_arrays(p, room, wanted);
	c.sent = e.array;
	c.sents = e.count;
	if (p->examples > 0 && call(p, &c) < 0)
		memset(room, 0, floats * sizeof(float));
	if (own->outputs > 1) {
		copy_outputs(p, p->out.value, room, false);
		free(room);
	}
	external_inputs_close(&e);
}

/* ---- backward ---- */

/*
 * List where each gradient that is needed is to be added.  Return their number.
 */
static size_t
gradients_wanted(const struct pass *p, struct external_array *to)
{
	const struct node *n = p->node;
	size_t count = 0;

	for (size_t k = 0; k < n->ins; k++)
		if (p->in[k].gradient)
			to[count++] = numbers_of(p, n->in[k],
						 p->in[k].gradient);
	for (size_t k = 0; k < n->variables; k++)
		to[count++] = variable_of(p, k, p->dw[k]);
	return count;
}

/* Ask for all gradients, and add them to where they belong. */
static void
add_gradients(const struct pass *p, struct external_call *c)
{
	const size_t most = p->node->ins + p->node->variables;
	struct external_array *to = mem_alloc(most, sizeof(*to));
	struct external_array *wanted = mem_alloc(most, sizeof(*wanted));
	const size_t count = gradients_wanted(p, to);
	size_t all = 0, at = 0;
	float *room;

	for (size_t k = 0; k < count; k++)
		all += external_size(&to[k]);
	room = mem_alloc(all, sizeof(float));
	for (size_t k = 0; k < count; at += external_size(&to[k++])) {
		wanted[k] = to[k];
		wanted[k].at = room + at;
	}
	c->wanted = wanted;
	c->wanteds = count;
	if (p->examples > 0 && call(p, c) == 0)
		for (size_t k = 0; k < count; k++)
			kernel_add(to[k].at, wanted[k].at,
				   external_size(&to[k]));
	free(room);
	free(wanted);
	free(to);
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	struct external_array sent[OUTPUTS];
	float *room = own->outputs == 1 ? p->out.gradient :
		mem_alloc(p->examples * node_size(p->node), sizeof(float));
	struct external_call c = { .op = "backward", .sent = sent,
				   .sents = own->outputs };

	output_arrays(p, room, sent);
	if (own->outputs > 1)
		copy_outputs(p, p->out.gradient, room, true);
	add_gradients(p, &c);
	if (own->outputs > 1)
		free(room);
}

/* ---- one output of several ---- */

static int
build_part(struct model *m, struct node *n, struct settings *s,
	   struct fail *f)
{
	const struct private *all = n->in[0]->private;
	struct part *own = n->private;
	size_t k = 0;

	(void)m, (void)s, (void)f;
	while (strcmp(all->output[k].name, n->name) != 0)
		k++;
	own->at = all->output[k].at;
	n->shape = all->output[k].shape;
	return 0;
}

static void
forward_part(const struct pass *p)
{
	const struct part *own = p->node->private;
	const size_t n = node_size(p->node);

	for (size_t i = 0; i < p->examples; i++)
		memcpy(p->out.value + i * n,
		       p->in[0].value + i * p->in[0].stride + own->at,
		       n * sizeof(float));
}

static void
backward_part(const struct pass *p)
{
	const struct part *own = p->node->private;
	const size_t n = node_size(p->node);

	for (size_t i = 0; i < p->examples && p->in[0].gradient; i++)
		kernel_add(p->in[0].gradient + i * p->in[0].stride + own->at,
			   p->out.gradient + i * n, n);
}

static const struct layer layer_part = {
	.name = "an output of external", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct part), .takes_activation = true,
	.build = build_part, .forward = forward_part,
	.backward = backward_part
};

const struct layer layer_external = {
	.name = LAYER_EXTERNAL, .min_inputs = 1, .max_inputs = 1024,
	.private = sizeof(struct private), .takes_activation = true,
	.needs_whole_batch = true, .takes_label = true,
	.output = output_name, .output_layer = &layer_part,
	.build = build, .forward = forward, .backward = backward
};
