#include "model/step_line.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/layer.h"
#include "model/parse.h"

#include <stdlib.h>
#include <string.h>

/* ---- what it is sent ---- */

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

/* Those with a line of their own: no name of a layer's is without a slash. */
static bool
is_variable(const struct variable *v)
{
	return !strchr(v->name, '/');
}

static int
take_pattern(struct model *m, struct step_line *s, bool *taken,
	     const char *pattern, struct fail *f)
{
	bool any = false;

	for (size_t v = 0; v < m->variables; v++) {
		if (!is_variable(&m->variable[v]) ||
		    !text_match(pattern, m->variable[v].name))
			continue;
		taken[v] = any = true;
	}
	return any ? 0 :
		fail(f, FAIL_CONFIG, "%s: %s: variables: there is no line "
		     "'variable %s SHAPE'", s->where, s->name, pattern);
}

static int
take_patterns(struct model *m, struct step_line *s, bool *taken,
	      const char *text, struct fail *f)
{
	char *copy = mem_text(text);
	size_t count;
	char **pattern = text_split(copy, ',', &count);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++)
		status = take_pattern(m, s, taken, pattern[i], f);
	free(pattern);
	free(copy);
	return status;
}

/* variables=PATTERN,...; without it: all. */
static int
take_variables(struct model *m, struct step_line *s, struct settings *of,
	       struct fail *f)
{
	const char *text = settings_text(of, "variables");
	bool *taken = mem_alloc(m->variables, sizeof(*taken));
	const int status = text ? take_patterns(m, s, taken, text, f) : 0;

	s->variable = mem_alloc(m->variables, sizeof(*s->variable));
	for (size_t v = 0; v < m->variables; v++) {
		if (!is_variable(&m->variable[v]) || (text && !taken[v]))
			continue;
		m->variable[v].unused = false;
		s->variable[s->variables++] = v;
	}
	free(taken);
	return status;
}

/* predicts=SHAPE, of an example. */
static int
take_prediction(struct step_line *s, struct settings *of, struct fail *f)
{
	const char *text = settings_text(of, "predicts");

	if (!text)
		return 0;
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
	struct step_line *s = &m->step;

	if (m->loss.kind)
		return fail(f, FAIL_CONFIG, "%s: a step line and a loss, at "
			    "%s: a step's program has its own loss",
			    of->where, m->loss_where);
	if (s->name)
		return fail(f, FAIL_CONFIG, "%s: a second step line; the "
			    "first is at %s", of->where, s->where);
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

	if (m->step.name && v->unused)
		return fail(f, FAIL_CONFIG, "%s: %s: no step line names it "
			    "among its variables", st->settings.where,
			    v->name);
	if (v->averaged && !m->step.name)
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
