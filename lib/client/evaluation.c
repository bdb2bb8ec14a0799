#include "client/evaluation.h"

#include <string.h>

void
evaluation_open(struct evaluation *e, const struct model *model,
		const struct externals *externals)
{
	size_t line, dataset;

	memset(e, 0, sizeof(*e));
	e->compute = compute_new(model, externals);
	if (model_scored(model, &line, &dataset))
		compute_choose(e->compute, line);
	e->metric = model_metrics(model, &e->metrics);
}

void
evaluation_close(struct evaluation *e)
{
	for (size_t i = 0; i < e->metrics; i++)
		metric_release(&e->state[i]);
	compute_free(e->compute);
	memset(e, 0, sizeof(*e));
}

void
evaluation_reset(struct evaluation *e)
{
	for (size_t i = 0; i < e->metrics; i++)
		metric_reset(&e->state[i]);
	e->examples = 0;
	e->loss = 0;
	e->negatives = (struct negative_labels){ 0 };
}

void
evaluation_begin(struct evaluation *e, struct batch *batch)
{
	compute_begin(e->compute, batch);
	negative_labels_add_batch(&e->negatives, batch);
}

void
evaluation_compute(struct evaluation *e, bool labelled)
{
	if (labelled)
		compute_forward(e->compute);
	else
		compute_predict(e->compute);
}

int
evaluation_add(struct evaluation *e, bool labelled, struct fail *f)
{
	if (compute_failure(e->compute)) {
		*f = *compute_failure(e->compute);
		return -1;
	}
	e->examples += compute_examples(e->compute);
	if (!labelled)
		return 0;
	e->loss += compute_loss(e->compute);
	compute_metrics(e->compute, e->state);
	return 0;
}

int
evaluation_end(struct evaluation *e, bool labelled, struct fail *f)
{
	evaluation_compute(e, labelled);
	return evaluation_add(e, labelled, f);
}

void
evaluation_result(const struct evaluation *e, struct result *r,
		  const struct metric_state **scores)
{
	*r = (struct result){ .examples = e->examples, .loss = e->loss,
			      .negatives = e->negatives };
	result_metrics(r, e->metric, e->metrics, e->state);
	*scores = NULL;
	for (size_t i = 0; i < e->metrics; i++)
		if (e->state[i].count > 0)
			*scores = &e->state[i];
}
