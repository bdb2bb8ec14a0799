/*
 * layer_external - what a program of the user's computes: see ps-external(5).
 *
 * All examples of a batch are one call forward and one backward, for which
 * the program may keep what it likes from the one before.  After a call that
 * failed nothing counts but the failure, and nobody is called again.
 */
#include "model/layer.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "model/external.h"
#include "tensor/kernels.h"

#include <stdlib.h>
#include <string.h>

/* What every reader of JSON has whole numbers up to. */
#define SEED_BITS	53

struct private {
	uint64_t stream;
};

/* ---- what a model has ---- */

/* One that has a line of its own: no name of a layer's is without a slash. */
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
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;

	if (node_wants_floats(n, f) || node_shape(n, "shape", s, f))
		return -1;
	own->stream = hash64(n->name, strlen(n->name));
	return take_variables(m, n, s, f);
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
	if (p->externals->call(p->externals->own, c, p->failure) == 0)
		return 0;
	return fail_at(p->failure, "%s: %s", p->node->where, p->node->name);
}

static void
forward(const struct pass *p)
{
	const struct node *n = p->node;
	const size_t count = n->ins + n->variables;
	struct external_array *sent = mem_alloc(count, sizeof(*sent));
	const struct external_array wanted = numbers_of(p, n, p->out.value);
	struct external_call c = { .op = "forward",
				   .sent = sent, .sents = count,
				   .wanted = &wanted, .wanteds = 1 };

	for (size_t k = 0; k < n->ins; k++)
		sent[k] = numbers_of(p, n->in[k], p->in[k].value);
	for (size_t k = 0; k < n->variables; k++)
		sent[n->ins + k] = variable_of(p, k, p->w[k]);
	if (p->examples > 0 && call(p, &c) < 0)
		memset(p->out.value, 0, external_size(&wanted) *
		       sizeof(float));
	free(sent);
}

/* Where each gradient that is wanted is to be added; how many there are. */
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

static void
backward(const struct pass *p)
{
	const struct node *n = p->node;
	const size_t most = n->ins + n->variables;
	struct external_array *to = mem_alloc(most, sizeof(*to));
	struct external_array *wanted = mem_alloc(most, sizeof(*wanted));
	const struct external_array sent = numbers_of(p, n, p->out.gradient);
	const size_t count = gradients_wanted(p, to);
	struct external_call c = { .op = "backward", .sent = &sent,
				   .sents = 1, .wanted = wanted,
				   .wanteds = count };
	size_t all = 0, at = 0;
	float *room;

	for (size_t k = 0; k < count; k++)
		all += external_size(&to[k]);
	room = mem_alloc(all, sizeof(float));
	for (size_t k = 0; k < count; at += external_size(&to[k++])) {
		wanted[k] = to[k];
		wanted[k].at = room + at;
	}
	if (p->examples > 0 && call(p, &c) == 0)
		for (size_t k = 0; k < count; k++)
			kernel_add(to[k].at, wanted[k].at,
				   external_size(&to[k]));
	free(room);
	free(wanted);
	free(to);
}

const struct layer layer_external = {
	.name = LAYER_EXTERNAL, .min_inputs = 1, .max_inputs = 1024,
	.private = sizeof(struct private), .takes_activation = true,
	.needs_whole_batch = true,
	.build = build, .forward = forward, .backward = backward
};
