#include "model/dataset.h"

#include "base/mem.h"
#include "model/graph.h"

#include <stdlib.h>
#include <string.h>

/*
 * Set in->dataset, by name; the data set may be new.  Return -1 if there are
 * too many.
 */
static int
find_dataset(struct model *m, struct input *in, struct fail *f)
{
	const char *name = in->from ? in->from : "";

	in->dataset = 0;
	while (in->dataset < m->datasets &&
	       strcmp(m->dataset[in->dataset].name, name) != 0)
		in->dataset++;
	if (in->dataset < m->datasets)
		return 0;
	if (m->datasets == DATASETS)
		return fail(f, FAIL_CONFIG, "%s: from=%s: more than %d data "
			    "sets", in->where, name, DATASETS);
	m->dataset[m->datasets++] = (struct dataset){ .name = name };
	return 0;
}

static int
find_datasets(struct model *m, struct fail *f)
{
	m->dataset = mem_alloc(DATASETS, sizeof(*m->dataset));
	m->dataset[m->datasets++].name = "";
	for (size_t i = 0; i < m->inputs; i++)
		if (find_dataset(m, &m->input[i], f) < 0)
			return -1;
	return m->labelled ? find_dataset(m, &m->label, f) : 0;
}

/*
 * Sort the inputs by data set.  Return the new index of each; the caller frees
 * it.
 */
static size_t *
sort_inputs(struct model *m)
{
	struct input *sorted = mem_alloc(m->inputs, sizeof(*sorted));
	size_t *to = mem_alloc(m->inputs, sizeof(*to));
	size_t n = 0;

	for (size_t d = 0; d < m->datasets; d++) {
		m->dataset[d].first = n;
		for (size_t i = 0; i < m->inputs; i++)
			if (m->input[i].dataset == d) {
				sorted[n] = m->input[i];
				to[i] = n++;
			}
		m->dataset[d].inputs = n - m->dataset[d].first;
	}
	memcpy(m->input, sorted, m->inputs * sizeof(*sorted));
	free(sorted);
	return to;
}

static void
order_inputs(struct model *m)
{
	size_t *to = sort_inputs(m);

	for (size_t i = 0; i < m->nodes; i++) {
		struct node *n = m->node[i];

		if (!n->input)
			continue;
		n->feature = to[n->feature];
		n->input = &m->input[n->feature];
	}
	free(to);
}

/*
 * Set n->dataset.  A layer computes one example from one example of each input,
 * so all inputs are of one data set.
 */
static int
check_layer(const struct model *m, struct node *n, struct fail *f)
{
	const char *other = NULL;

	n->dataset = n->input ? n->input->dataset : n->in[0]->dataset;
	for (size_t k = 1; k < n->ins; k++)
		if (n->in[k]->dataset != n->dataset)
			other = n->in[k]->name;
	if (n->label > 0 && m->label.dataset != n->dataset)
		other = m->label.name;
	return !other ? 0 :
		fail(f, FAIL_CONFIG, "%s: %s: %s and %s are of two data sets "
		     "(from=), whose examples do not go together", n->where,
		     n->name, n->in[0]->name, other);
}

static size_t
dataset_of(const struct model *m, const struct node *n)
{
	return n ? n->dataset : m->label.dataset;
}

static int
take_datasets(const struct model *m, struct step_line *s, struct fail *f)
{
	for (size_t i = 0; i < s->ins; i++)
		s->datasets |= UINT64_C(1) << dataset_of(m, s->in[i]);
	if (s->predicts && (s->datasets & (s->datasets - 1)) != 0)
		return fail(f, FAIL_CONFIG, "%s: %s: predicts is of examples "
			    "of one data set, and its inputs are of several "
			    "(from=)", s->where, s->name);
	return 0;
}

int
dataset_build(struct model *m, struct fail *f)
{
	if (find_datasets(m, f) < 0)
		return -1;
	if (m->datasets > 1 && m->steps == 0)
		return fail(f, FAIL_CONFIG, "%s: from= is for models whose "
			    "steps a program computes (step): a loss is of "
			    "one data set", m->loss_where);
	order_inputs(m);
	for (size_t i = 0; i < m->nodes; i++)
		if (check_layer(m, m->node[i], f) < 0)
			return -1;
	for (size_t i = 0; i < m->steps; i++)
		if (take_datasets(m, &m->step[i], f) < 0)
			return -1;
	return 0;
}

/* ---- batches ---- */

static void
swap_feature(struct feature *a, struct feature *b)
{
	const struct feature old = *a;

	*a = *b;
	*b = old;
}

static void
swap_part(const struct model *m, size_t dataset, struct batch *b,
	  struct batch *part)
{
	const struct dataset *d = &m->dataset[dataset];

	for (size_t i = 0; i < d->inputs; i++)
		swap_feature(&b->feature[d->first + i], &part->feature[i]);
	if (m->labelled && m->label.dataset == dataset)
		swap_feature(&b->label, &part->label);
	b->prepared = part->prepared = false;
}

void
dataset_join(const struct model *m, size_t dataset, struct batch *b,
	     struct batch *part)
{
	if (!b->each)
		b->each = mem_alloc(m->datasets, sizeof(*b->each));
	b->datasets = m->datasets;
	swap_part(m, dataset, b, part);
	b->each[dataset] = part->examples;
}

void
dataset_part(const struct model *m, size_t dataset, struct batch *b,
	     struct batch *part)
{
	swap_part(m, dataset, b, part);
	part->examples = b->each[dataset];
	b->each[dataset] = 0;
}
