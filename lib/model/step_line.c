#include "model/step_line.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/layer.h"
#include "model/parse.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the program is sent ---- */

static int
take_input(const struct model *m, struct step_line *s, const char *name,
	   struct fail *f)
{
	const struct node *n = model_find(m, name);
	const bool label = m->labelled && strcmp(m->label.name, name) == 0;

	if (!n && !label)
		return fail(f, FAIL_CONFIG, "%s: %s: there is no input, label "
			    "or layer %s", s->where, s->name, name);
	for (size_t i = 0; i < s->ins; i++)
		if (s->in[i] == n)
			return fail(f, FAIL_CONFIG, "%s: %s: %s comes twice",
				    s->where, s->name, name);
	s->in[s->ins++] = n;
	return 0;
}

static int
take_inputs(const struct model *m, struct step_line *s,
	    const struct statement *st, struct fail *f)
{
	s->in = mem_alloc(st->words, sizeof(*s->in));
	for (size_t i = 2; i < st->words; i++)
		if (take_input(m, s, st->word[i], f) < 0)
			return -1;
	return 0;
}

/*
 * Return whether a variable has a line of its own: every variable of a layer
 * has a slash in its name.
 */
static bool
is_variable(const struct variable *v)
{
	return !strchr(v->name, '/');
}

enum use { USE_NONE, USE_TRAINED, USE_READ };

static int
take_pattern(struct model *m, struct step_line *s, enum use *use,
	     const char *pattern, enum use as, struct fail *f)
{
	bool any = false;

	for (size_t v = 0; v < m->variables; v++) {
		const struct variable *of = &m->variable[v];

		if (!is_variable(of) || !text_match(pattern, of->name))
			continue;
		if (use[v] != USE_NONE && use[v] != as)
			return fail(f, FAIL_CONFIG, "%s: %s: %s is among both "
				    "its variables and what it reads",
				    s->where, s->name, of->name);
		use[v] = as;
		any = true;
	}
	return any ? 0 :
		fail(f, FAIL_CONFIG, "%s: %s: %s: there is no line "
		     "'variable %s SHAPE'", s->where, s->name,
		     as == USE_READ ? "reads" : "variables", pattern);
}

static int
take_patterns(struct model *m, struct step_line *s, enum use *use,
	      const char *text, enum use as, struct fail *f)
{
	char *copy = mem_text(text ? text : "");
	size_t count;
	char **pattern = text_split(copy, ',', &count);
	int status = 0;

	for (size_t i = 0; status == 0 && text && i < count; i++)
		status = take_pattern(m, s, use, pattern[i], as, f);
	free(pattern);
	free(copy);
	return status;
}

/*
 * Read variables=PATTERN,...  and reads=PATTERN,...; without the first the
 * program gets all variables that reads= does not name.
 */
static int
take_variables(struct model *m, struct step_line *s, struct settings *of,
	       struct fail *f)
{
	const char *trained = settings_text(of, "variables");
	const char *read = settings_text(of, "reads");
	enum use *use = mem_alloc(m->variables, sizeof(*use));
	int status = 0;

	if (take_patterns(m, s, use, trained, USE_TRAINED, f) < 0 ||
	    take_patterns(m, s, use, read, USE_READ, f) < 0)
		status = -1;
	s->variable = mem_alloc(m->variables, sizeof(*s->variable));
	s->reads = mem_alloc(m->variables, sizeof(*s->reads));
	for (size_t v = 0; v < m->variables; v++) {
		if (!is_variable(&m->variable[v]) ||
		    (use[v] == USE_NONE && trained))
			continue;
		m->variable[v].unused = false;
		s->reads[s->variables] = use[v] == USE_READ;
		s->variable[s->variables++] = v;
	}
	free(use);
	return status;
}

/* Read predicts=SHAPE, the shape of one example's prediction. */
static int
take_prediction(struct step_line *s, struct settings *of, struct fail *f)
{
	const char *text = settings_text(of, "predicts");

	if (!text)
		return 0;
	if (s->ins == 0)
		return fail(f, FAIL_CONFIG, "%s: %s: predicts=%s is of "
			    "examples, and it takes no input", s->where,
			    s->name, text);
	s->predicts = parse_shape(text, &s->prediction) &&
		s->prediction.rank > 0 && shape_sound(&s->prediction) &&
		shape_size(s->prediction) <= NODE_FLOATS;
	return s->predicts ? 0 :
		fail(f, FAIL_CONFIG, "%s: %s: predicts=%s is not like [3,4]",
		     s->where, s->name, text);
}

int
step_line_define(struct model *m, struct statement *st, struct fail *f)
{
	struct settings *of = &st->settings;
	struct step_line *s;
	size_t i;

	if (m->loss.kind)
		return fail(f, FAIL_CONFIG, "%s: a step line and a loss, at "
			    "%s: a step's program has its own loss",
			    of->where, m->loss_where);
	if (model_find_step(m, st->word[1], &i))
		return fail(f, FAIL_CONFIG, "%s: a second step line of the "
			    "name %s; the first is at %s", of->where,
			    st->word[1], m->step[i].where);
	if (m->steps == STEP_LINES)
		return fail(f, FAIL_CONFIG, "%s: more than %d step lines",
			    of->where, STEP_LINES);
	m->step = mem_grow(m->step, m->steps, &m->step_room,
			   sizeof(*m->step));
	s = &m->step[m->steps++];
	*s = (struct step_line){ 0 };
	s->name = st->word[1];
	s->where = of->where;
	if (take_inputs(m, s, st, f) < 0 ||
	    take_variables(m, s, of, f) < 0 ||
	    take_prediction(s, of, f) < 0)
		return -1;
	return settings_done(of, f);
}

/* ---- variables ---- */

static int
check_variable(const struct model *m, const struct statement *st,
	       struct fail *f)
{
	const struct variable *v = model_variable(m, st->word[1]);

	if (m->steps > 0 && v->unused)
		return fail(f, FAIL_CONFIG, "%s: %s: no step line names it "
			    "among its variables", st->settings.where,
			    v->name);
	if (v->averaged && m->steps == 0)
		return fail(f, FAIL_CONFIG, "%s: %s: trainable=false is for "
			    "what a step line's program computes, and there "
			    "is none", st->settings.where, v->name);
	return 0;
}

int
step_line_check(const struct model *m, struct fail *f)
{
	for (size_t i = 0; i < m->statements.count; i++) {
		const struct statement *st = &m->statements.list[i];

		if (st->words == 3 && strcmp(st->word[0], "variable") == 0 &&
		    check_variable(m, st, f) < 0)
			return -1;
	}
	return 0;
}

/* ---- which layers and variables take part in which lines ---- */

/*
 * Mark the nodes that lead to each line.  Backwards, since a node comes after
 * its inputs.  A node that leads to no line is computed for all, as in models
 * with a loss.
 */
static void
mark_nodes(struct model *m)
{
	for (size_t i = 0; i < m->nodes; i++)
		m->node[i]->lines = 0;
	for (size_t i = 0; i < m->steps; i++)
		for (size_t k = 0; k < m->step[i].ins; k++)
			if (m->step[i].in[k])
				m->node[m->step[i].in[k]->index]->lines |=
					UINT64_C(1) << i;
	for (size_t i = m->nodes; i > 0; i--) {
		struct node *n = m->node[i - 1];

		for (size_t k = 0; k < n->ins; k++)
			n->in[k]->lines |= n->lines;
		if (n->shares)
			m->node[n->shares->index]->lines |= n->lines;
	}
	for (size_t i = 0; i < m->nodes; i++)
		if (m->node[i]->lines == 0)
			m->node[i]->lines = UINT64_MAX;
}

/* The lines that a layer leads to train its variables. */
static void
mark_layer(struct model *m, const struct node *n)
{
	for (size_t k = 0; k < n->variables; k++) {
		struct variable *v = &m->variable[n->variable[k]];

		v->lines |= n->lines;
		v->trained_by |= n->lines;
	}
}

static void
mark_line(struct model *m, size_t i)
{
	const struct step_line *s = &m->step[i];

	for (size_t k = 0; k < s->variables; k++) {
		struct variable *v = &m->variable[s->variable[k]];

		v->lines |= UINT64_C(1) << i;
		v->trained_by |= (uint64_t)!s->reads[k] << i;
	}
}

void
step_line_mark(struct model *m)
{
	const uint64_t all = m->steps == 0 ? UINT64_MAX : 0;

	mark_nodes(m);
	for (size_t v = 0; v < m->variables; v++)
		m->variable[v].lines = m->variable[v].trained_by = all;
	for (size_t i = 0; i < m->nodes; i++)
		mark_layer(m, m->node[i]);
	for (size_t i = 0; i < m->steps; i++)
		mark_line(m, i);
	for (size_t v = 0; v < m->variables; v++)
		m->variable[v].partly = m->steps > 0 &&
			m->variable[v].trained_by !=
			(UINT64_C(1) << m->steps) - 1;
}
