#include "model/meaning.h"

#include "model/graph.h"

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
has_column(const struct input *in, const char *name)
{
	for (size_t i = 0; i < in->column_count; i++)
		if (strcmp(in->columns[i], name) == 0)
			return true;
	return false;
}

/*
 * Return whether the same columns are in another order: a mistake, while
 * columns with other names are not.
 */
static bool
reordered(const struct input *a, const struct input *b)
{
	bool moved = false;

	if (a->column_count != b->column_count)
		return a->crossed;
	for (size_t i = 0; i < a->column_count; i++) {
		if (!has_column(a, b->columns[i]))
			return false;
		moved = moved || strcmp(a->columns[i], b->columns[i]) != 0;
	}
	return moved;
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
	return reordered(was, is) ? "the order of its columns" : NULL;
}

static void
compare(const struct input *was, const struct input *is, struct text *to)
{
	const char *what = was && is ? difference(was, is) : NULL;

	if (what)
		text_add(to, "%s%s: %s: %s", to->size > 0 ? ", " : "",
			 is->where, is->name, what);
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

void
meaning_compare(const struct model *was, const struct model *is,
		struct text *to)
{
	for (size_t i = 0; i < is->inputs; i++)
		compare(find_input(was, is->input[i].name), &is->input[i], to);
	compare_tables(was, is, to);
	compare(model_label(was), model_label(is), to);
}
