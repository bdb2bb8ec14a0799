#include "model/buffer_plan.h"

#include "base/mem.h"
#include "model/layer.h"

#include <stdlib.h>

/*
 * Return how many times the numbers of each node are read: by layers, step
 * lines, the loss, the prediction and metrics.  The caller frees it.
 */
static size_t *
count_uses(const struct model *m)
{
	size_t *uses = mem_alloc(m->nodes, sizeof(*uses));

	for (size_t i = 0; i < m->nodes; i++)
		for (size_t k = 0; k < m->node[i]->ins; k++)
			uses[m->node[i]->in[k]->index]++;
	for (size_t i = 0; i < m->steps; i++) {
		const struct step_line *s = &m->step[i];

		for (size_t k = 0; k < s->ins; k++)
			if (s->in[k])
				uses[s->in[k]->index]++;
	}
	if (!m->loss_node)
		return uses;
	uses[m->loss_node->index]++;
	uses[m->prediction->index]++;
	for (size_t k = 0; k < m->metrics; k++) {
		const struct node *n = m->metric_node[k];

		uses[n->index]++;
		if (m->metric[k].logits)
			uses[n->in[0]->index]++;
	}
	return uses;
}

static bool
can_be_in_place(const struct node *n, const size_t *uses)
{
	const struct node *in = n->ins > 0 ? n->in[0] : NULL;

	return n->by_output && in->layer && in->layer->takes_activation &&
		uses[in->index] == 1;
}

/*
 * Place inputs of a concat in its memory, one behind the other within an
 * example: those that only the concat reads and whose layer can write with a
 * stride.
 */
static void
place_concat_inputs(const struct node *concat, const size_t *uses)
{
	size_t at = 0;

	for (size_t k = 0; k < concat->ins; k++) {
		struct node *n = concat->in[k];

		while (uses[n->index] == 1 && n->layer &&
		       n->layer->aliases_input)
			n = n->in[0];
		if (uses[n->index] == 1 && n->layer && n->layer->takes_stride) {
			n->home = concat;
			n->home_at = at;
		}
		at += node_size(concat->in[k]);
	}
}

void
buffer_plan_find(struct model *m)
{
	size_t *uses = count_uses(m);

	for (size_t i = 0; i < m->nodes; i++) {
		struct node *n = m->node[i];

		n->in_place = can_be_in_place(n, uses);
		n->room = n->layer && (n->layer->aliases_input || n->in_place) ?
			n->in[0]->room : n;
		if (n->layer && n->layer->holds_inputs && n->shape.rank == 1)
			place_concat_inputs(n, uses);
	}
	free(uses);
}

const struct node *
buffer_plan_room(const struct node *n)
{
	return n->room->home ? n->room->home : n->room;
}

size_t
buffer_plan_stride(const struct node *n)
{
	return node_size(n->home ? n->home : n);
}
