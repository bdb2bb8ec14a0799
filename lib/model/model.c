#include "model/model.h"

#include "base/mem.h"
#include "model/external.h"
#include "model/graph.h"
#include "model/layer.h"
#include "model/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
node_ids(const struct node *n)
{
	return n->input && n->input->kind != INPUT_FLOAT;
}

size_t
node_size(const struct node *n)
{
	return shape_size(n->shape);
}

/*
 * A name has several nodes if its line makes hidden ones; the last is the
 * visible one.
 */
struct node *
model_find(const struct model *m, const char *name)
{
	const size_t i = names_get(&m->node_named, name, strlen(name));

	return i == NAMES_NONE ? NULL : m->node[i];
}

struct node *
model_add_node(struct model *m, const char *name, const char *where)
{
	struct node *n = mem_alloc(1, sizeof(*n));

	n->name = mem_text(name);
	n->where = where;
	n->index = m->nodes;
	m->node = mem_grow(m->node, m->nodes, &m->node_room,
			   sizeof(struct node *));
	names_put(&m->node_named, name, strlen(name), m->nodes);
	m->node[m->nodes++] = n;
	return n;
}

int
model_add_variable(struct model *m, const char *where, const char *owner,
		   const char *weight, struct shape shape, struct fail *f)
{
	char name[2 * NODE_NAME], dims[SHAPE_TEXT];

	snprintf(name, sizeof(name), "%s%s%s", owner, weight ? "/" : "",
		 weight ? weight : "");
	if (!shape_sound(&shape))
		return fail(f, FAIL_CONFIG, "%s: %s: a variable of %s is too "
			    "large", where, name, shape_text(shape, dims));
	m->variable = mem_grow(m->variable, m->variables, &m->variable_room,
			       sizeof(*m->variable));
	m->variable[m->variables] = (struct variable){
		.name = mem_text(name), .shape = shape
	};
	names_put(&m->variable_named, name, strlen(name), m->variables);
	return (int)m->variables++;
}

static void
node_free(struct node *n)
{
	free(n->name);
	free(n->in);
	free(n->private);
	free(n);
}

void
model_keep(const struct model *m)
{
	((struct model *)(uintptr_t)m)->kept = true;
}

void
model_free(struct model *m)
{
	if (!m || m->kept)
		return;
	for (size_t i = 0; i < m->inputs; i++)
		parse_release(&m->input[i]);
	free(m->input);
	free(m->dataset);
	parse_release(&m->label);
	for (size_t i = 0; i < m->nodes; i++)
		node_free(m->node[i]);
	free(m->node);
	names_release(&m->file_named);
	names_release(&m->node_named);
	names_release(&m->variable_named);
	names_release(&m->lookup_named);
	for (size_t i = 0; i < m->variables; i++)
		free(m->variable[i].name);
	free(m->variable);
	for (size_t i = 0; i < m->optimizers; i++)
		free(m->optimizer[i]);
	free(m->optimizer);
	for (size_t i = 0; i < m->locals; i++)
		free(m->local[i]);
	free(m->local);
	free(m->class_weight);
	for (size_t i = 0; i < m->groups; i++) {
		free(m->group[i].feature);
		free(m->group[i].variable);
	}
	free(m->group);
	free(m->metric);
	free(m->metric_node);
	for (size_t i = 0; i < m->steps; i++) {
		free(m->step[i].in);
		free(m->step[i].variable);
		free(m->step[i].reads);
	}
	free(m->step);
	statements_release(&m->statements);
	free(m);
}

/*
 * Mark the nodes that lead to a result.  Backwards, since a node comes after
 * its inputs.
 */
static bool *
mark_used(const struct model *m)
{
	bool *used = mem_alloc(m->nodes, sizeof(*used));

	if (m->prediction)
		used[m->prediction->index] = true;
	for (size_t i = 0; i < m->steps; i++) {
		const struct step_line *s = &m->step[i];

		for (size_t k = 0; k < s->ins; k++)
			if (s->in[k])
				used[s->in[k]->index] = true;
	}
	if (m->sample_weight)
		used[m->sample_weight->index] = true;
	for (size_t i = 0; i < m->metrics; i++)
		if (m->metric_node[i])
			used[m->metric_node[i]->index] = true;
	for (size_t i = m->nodes; i > 0; i--) {
		const struct node *n = m->node[i - 1];

		for (size_t k = 0; used[i - 1] && k < n->ins; k++)
			used[n->in[k]->index] = true;
		if (used[i - 1] && n->shares)
			used[n->shares->index] = true;
	}
	return used;
}

void
model_unused(const struct model *m, struct text *lines)
{
	bool *used = mark_used(m);

	for (size_t i = 0; i < m->nodes; i++) {
		const struct node *n = m->node[i];

		if (!used[i] && n == model_find(m, n->name))
			text_add(lines, "%s: %s leads to %s; it can be left "
				 "out\n", n->where, n->name, m->steps > 0 ?
				 "no step" : "neither the loss nor a metric");
	}
	free(used);
}

const struct input *
model_inputs(const struct model *m, size_t *count)
{
	*count = m->inputs;
	return m->input;
}

const struct input *
model_label(const struct model *m)
{
	return m->labelled ? &m->label : NULL;
}

const struct variable *
model_variables(const struct model *m, size_t *count)
{
	*count = m->variables;
	return m->variable;
}

const struct variable *
model_variable(const struct model *m, const char *name)
{
	const size_t i = names_get(&m->variable_named, name, strlen(name));

	return i == NAMES_NONE ? NULL : &m->variable[i];
}

const struct metric *
model_metrics(const struct model *m, size_t *count)
{
	*count = m->metrics;
	return m->metric;
}

const char *
model_external(const struct model *m, size_t i, const char **where)
{
	for (size_t k = 0; k < m->nodes; k++) {
		const struct node *n = m->node[k];

		if (!n->layer || strcmp(n->layer->name, LAYER_EXTERNAL) != 0 ||
		    i-- > 0)
			continue;
		*where = n->where;
		return n->name;
	}
	return NULL;
}

const char *
model_step(const struct model *m, size_t i, const char **where)
{
	*where = i < m->steps ? m->step[i].where : NULL;
	return i < m->steps ? m->step[i].name : NULL;
}

bool
model_has_programs(const struct model *m)
{
	const char *where;

	return model_external(m, 0, &where) || model_step(m, 0, &where);
}

bool
model_find_step(const struct model *m, const char *name, size_t *i)
{
	for (*i = 0; *i < m->steps; ++*i)
		if (!name || strcmp(m->step[*i].name, name) == 0)
			return true;
	return false;
}

struct model_local
model_local(const struct model *m)
{
	struct model_local l = { .steps = m->local_steps };

	for (size_t i = m->locals; i-- > 0;) {
		l.where = m->local[i]->where;
		if (m->local[i]->keep)
			l.keeps = l.where;
	}
	return l;
}

size_t
model_datasets(const struct model *m)
{
	return m->datasets;
}

struct model_dataset
model_dataset(const struct model *m, size_t i)
{
	const struct dataset *d = &m->dataset[i];

	return (struct model_dataset){
		.name = d->name, .input = m->input + d->first,
		.label = m->labelled && m->label.dataset == i ? &m->label :
			NULL,
		.first = d->first, .inputs = d->inputs
	};
}

uint64_t
model_reads(const struct model *m, size_t line)
{
	return m->steps == 0 ? 1 : m->step[line].datasets;
}

size_t
model_reads_first(const struct model *m, size_t line)
{
	const struct step_line *s = m->step + line;

	if (m->steps == 0 || s->ins == 0)
		return 0;
	return s->in[0] ? s->in[0]->dataset : m->label.dataset;
}

bool
model_scored(const struct model *m, size_t *line, size_t *dataset)
{
	for (*line = 0; *line < m->steps; ++*line) {
		const uint64_t reads = model_reads(m, *line);

		*dataset = model_reads_first(m, *line);
		if (reads == UINT64_C(1) << *dataset)
			return true;
	}
	*dataset = 0;
	return m->steps == 0;
}

size_t
model_outputs(const struct model *m)
{
	size_t line, dataset;

	if (m->prediction)
		return node_size(m->prediction);
	return m->steps > 0 && model_scored(m, &line, &dataset) &&
		m->step[line].predicts ?
		shape_size(m->step[line].prediction) : 0;
}
