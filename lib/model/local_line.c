#include "model/local_line.h"

#include "base/mem.h"

#include <string.h>

static int
take_steps(struct model *m, struct settings *s, struct fail *f)
{
	uint64_t steps = 0;

	if (settings_uint(s, "steps", &steps, 1, UINT32_MAX, f) < 0)
		return -1;
	if (steps == 0)
		return fail(f, FAIL_CONFIG, "%s: after how many batches is "
			    "there a push? say steps=K", s->where);
	if (m->local_steps > 0 && steps != m->local_steps)
		return fail(f, FAIL_CONFIG, "%s: steps=%llu, but %s has %llu: "
			    "all variables are pushed together", s->where,
			    (unsigned long long)steps, m->local[0]->where,
			    (unsigned long long)m->local_steps);
	m->local_steps = steps;
	return 0;
}

static int
take_slots(struct local *l, struct settings *s, struct fail *f)
{
	const char *slots = settings_text(s, "slots");

	l->keep = slots && strcmp(slots, "keep") == 0;
	return !slots || l->keep ? 0 :
		fail(f, FAIL_CONFIG, "%s: slots=%s: say keep; without "
		     "slots=keep they start anew in each step", s->where,
		     slots);
}

/* Moving averages have an optimizer of their own. */
static int
assign(struct model *m, const struct local *l, struct names_sorted *names,
       const char *pattern, struct fail *f)
{
	bool matched = false;
	size_t count;
	const size_t *at = names_match(names, pattern, true, &count);

	for (size_t i = 0; i < count; i++) {
		struct variable *v = &m->variable[at[i]];

		if (v->averaged)
			continue;
		if (v->local)
			return fail(f, FAIL_CONFIG, "%s: %s has a local line "
				    "already, %s", l->where, v->name,
				    v->local->where);
		matched = true;
		v->local = l;
	}
	return matched ? 0 : fail(f, FAIL_CONFIG, "%s: for=%s matches no "
				  "variable that is trained", l->where,
				  pattern);
}

int
local_line_define(struct model *m, struct statement *st,
		  struct names_sorted *names, struct fail *f)
{
	struct settings *s = &st->settings;
	const char *pattern = settings_text(s, "for");
	struct local *l;

	if (m->steps > 0)
		return fail(f, FAIL_CONFIG, "%s: a local line and a step line, "
			    "at %s: a program computes a step at once",
			    s->where, m->step->where);
	if (!pattern && m->local_rest)
		return fail(f, FAIL_CONFIG, "%s: a second local line without "
			    "for=; the first is %s", s->where,
			    m->local_rest->where);
	if (take_steps(m, s, f) < 0)
		return -1;
	l = mem_alloc(1, sizeof(*l));
	l->where = s->where;
	m->local = mem_grow(m->local, m->locals, &m->local_room,
			    sizeof(struct local *));
	m->local[m->locals++] = l;
	if (!pattern)
		m->local_rest = l;
	else if (assign(m, l, names, pattern, f) < 0)
		return -1;
	return take_slots(l, s, f) < 0 ||
		optimizer_parse(&l->optimizer, st->word[1], s, f) < 0 ? -1 :
		settings_done(s, f);
}

/* Give the line without a pattern the variables of no other line. */
static int
assign_rest(struct model *m, struct fail *f)
{
	bool used = false;

	for (size_t i = 0; i < m->variables; i++) {
		struct variable *v = &m->variable[i];

		if (v->averaged || v->local)
			continue;
		v->local = m->local_rest;
		used = true;
	}
	return used ? 0 : fail(f, FAIL_CONFIG, "%s: no variable is left for "
			       "it", m->local_rest->where);
}

/* Refuse what servers would do to the difference, and the local steps do. */
static int
check_optimizer(const struct variable *v, const struct optimizer *o,
		struct fail *f)
{
	const char *where = v->local->where;

	if (!o)
		return fail(f, FAIL_CONFIG, "%s: %s has no optimizer line: "
			    "what do servers do with what the local steps come "
			    "to? 'optimizer sgd learning_rate=1' averages it",
			    where, v->name);
	if (o->weight_decay > 0)
		return fail(f, FAIL_CONFIG, "%s: the optimizer of %s has "
			    "weight_decay=%g: beside local steps that is a "
			    "setting of this line", where, v->name,
			    (double)o->weight_decay);
	if (o->clipvalue > 0 || o->clipnorm > 0 || o->global_clipnorm > 0)
		return fail(f, FAIL_CONFIG, "%s: the optimizer of %s clips "
			    "gradients: beside local steps that is a setting "
			    "of this line", where, v->name);
	return 0;
}

/* A worker has other rows of a table in each step. */
static int
check_slots(const struct variable *v, struct fail *f)
{
	return !v->local->keep || !v->table ? 0 :
		fail(f, FAIL_CONFIG, "%s: slots=keep: %s is a table, whose "
		     "rows are others in each step; leave it out with for=",
		     v->local->where, v->name);
}

int
local_line_check(struct model *m, struct fail *f)
{
	if (m->local_rest && assign_rest(m, f) < 0)
		return -1;
	for (size_t i = 0; i < m->variables; i++) {
		const struct variable *v = &m->variable[i];

		if (v->local && (check_slots(v, f) < 0 ||
				 check_optimizer(v, v->optimizer ?
						 v->optimizer : m->fallback,
						 f) < 0))
			return -1;
	}
	return 0;
}
