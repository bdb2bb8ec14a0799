#include "model/meaning.h"

#include "base/mem.h"
#include "model/graph.h"

#include <stdlib.h>
#include <string.h>

static bool
same_boundaries(const struct input *a, const struct input *b)
{
	return a->boundary_count == b->boundary_count &&
		(a->boundary_count == 0 ||
		 memcmp(a->boundaries, b->boundaries,
			a->boundary_count * sizeof(*a->boundaries)) == 0);
}

static bool
has(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Return whether the same names are in another order: a mistake, while other
   names are not. */
static bool
reordered(char *const *a, char *const *b, size_t n)
{
	bool moved = false;

	for (size_t i = 0; i < n; i++) {
		if (!has(a, n, b[i]))
			return false;
		moved = moved || strcmp(a[i], b[i]) != 0;
	}
	return moved;
}

static bool
other_order(const struct input *a, const struct input *b)
{
	return a->column_count != b->column_count ? a->crossed :
		reordered(a->columns, b->columns, a->column_count);
}

/* Return the first difference in how two inputs get their ids; or NULL. */
static const char *
difference(const struct input *was, const struct input *is)
{
	const struct lookup *a = was->lookup, *b = is->lookup;

	if (was->kind != is->kind || was->hashed != is->hashed ||
	    !a != !b)
		return "its kind";
	if (a && !lookup_same(a, b))
		return lookup_difference(a, b);
	if (!same_boundaries(was, is))
		return "its bin_boundaries";
	if (was->zero_based != is->zero_based)
		return "its zero_based";
	if (was->crossed != is->crossed)
		return "its cross";
	return other_order(was, is) ? "the order of its columns" : NULL;
}

static void
add(struct text *to, const char *where, const char *name, const char *what)
{
	text_add(to, "%s%s: %s: %s", to->size > 0 ? ", " : "", where, name,
		 what);
}

static void
compare(const struct input *was, const struct input *is, struct text *to)
{
	const char *what = was && is ? difference(was, is) : NULL;

	if (what)
		add(to, is->where, is->name, what);
}

static const struct input *
find_input(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->inputs; i++)
		if (strcmp(m->input[i].name, name) == 0)
			return &m->input[i];
	return NULL;
}

/*
 * Return the first input that looks up a table; the others have the same ids.
 */
static const struct input *
table_input(const struct model *m, const char *table)
{
	for (size_t i = 0; i < m->groups; i++)
		for (size_t k = 0; k < m->group[i].variables; k++)
			if (strcmp(m->variable[m->group[i].variable[k]].name,
				   table) == 0)
				return &m->input[m->group[i].feature[0]];
	return NULL;
}

/* Compare the inputs of tables whose inputs have other names now. */
static void
compare_tables(const struct model *was, const struct model *is,
	       struct text *to)
{
	for (size_t i = 0; i < is->groups; i++) {
		const struct group *g = &is->group[i];
		const struct input *in = &is->input[g->feature[0]];
		const struct input *old = table_input(was, is->variable[
						      g->variable[0]].name);

		if (old && strcmp(old->name, in->name) != 0 &&
		    !find_input(was, in->name))
			compare(old, in, to);
	}
}

/* Return the names of a layer's inputs; the caller frees the list alone. */
static char **
input_names(const struct node *n)
{
	char **names = mem_alloc(n->ins, sizeof(*names));

	for (size_t i = 0; i < n->ins; i++)
		names[i] = n->in[i]->name;
	return names;
}

/* Compare the layers that put others side by side: the order of these is that
   of the rows of the next layer's kernel. */
static void
compare_layers(const struct model *was, const struct model *is,
	       struct text *to)
{
	for (size_t i = 0; i < is->nodes; i++) {
		const struct node *b = is->node[i];
		const struct node *a = model_find(was, b->name);
		char **olds, **news;

		if (!b->layer || strcmp(b->kind, "concat") != 0 || !a ||
		    a->layer != b->layer || a->ins != b->ins)
			continue;
		olds = input_names(a);
		news = input_names(b);
		if (reordered(olds, news, b->ins))
			add(to, b->where, b->name, "the order of its inputs");
		free(olds);
		free(news);
	}
}

void
meaning_compare(const struct model *was, const struct model *is,
		struct text *to)
{
	for (size_t i = 0; i < is->inputs; i++)
		compare(find_input(was, is->input[i].name), &is->input[i], to);
	compare_tables(was, is, to);
	compare(model_label(was), model_label(is), to);
	compare_layers(was, is, to);
}
