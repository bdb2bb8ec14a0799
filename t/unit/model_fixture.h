/* model_fixture - a model from a text, its variables as a whole and a batch of
   random examples: the base of the tests of models. */
#ifndef PS_MODEL_FIXTURE_H
#define PS_MODEL_FIXTURE_H

#include "base/mem.h"
#include "base/rng.h"
#include "model/compute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_fixture {
	struct model_source source;
	struct model *model;
	struct compute *compute;
	struct batch batch;
	const struct variable *variable;
	size_t variables;
	float **w;			/* each variable, whole */
};

/* Stops the test if the text is not a model. */
static inline void
fixture_begin_with(struct model_fixture *r, const char *text,
		   const struct externals *externals)
{
	const struct input *input;
	struct fail f;
	size_t inputs;

	*r = (struct model_fixture){ .source.count = 1 };
	r->source.file = mem_alloc(1, sizeof(*r->source.file));
	r->source.file->name = mem_text("model.ps");
	r->source.file->text = mem_text(text);
	r->source.file->size = strlen(text);
	r->model = model_parse(&r->source, &f);
	if (!r->model) {
		printf("Bail out! %s\n%s\n", f.text, text);
		exit(1);
	}
	r->compute = compute_new(r->model, externals);
	input = model_inputs(r->model, &inputs);
	batch_begin(&r->batch, input, inputs, model_label(r->model));
	r->variable = model_variables(r->model, &r->variables);
	r->w = mem_alloc(r->variables, sizeof(float *));
	for (size_t v = 0; v < r->variables; v++)
		r->w[v] = mem_alloc(shape_size(r->variable[v].shape),
				    sizeof(float));
}

static inline void
fixture_begin(struct model_fixture *r, const char *text)
{
	fixture_begin_with(r, text, NULL);
}

static inline void
fixture_end(struct model_fixture *r)
{
	for (size_t v = 0; v < r->variables; v++)
		free(r->w[v]);
	free(r->w);
	batch_release(&r->batch);
	compute_free(r->compute);
	model_free(r->model);
	model_source_release(&r->source);
}

static inline float
fixture_random(struct rng *rng)
{
	return (float)(2 * rng_unit(rng_next(rng)) - 1);
}

static inline void
fixture_fill(struct model_fixture *r, struct rng *rng)
{
	for (size_t v = 0; v < r->variables; v++)
		for (size_t i = 0; i < shape_size(r->variable[v].shape); i++)
			r->w[v][i] = fixture_random(rng);
}

static inline void
fixture_add_feature(struct feature *to, size_t e, struct rng *rng)
{
	const struct input *in = to->input;
	size_t n = input_width(in), at = e * n;

	if (n == 0) {
		at = to->offset[e];
		n = rng_below(rng, 4);
		feature_set_offset(to, e + 1, at + n);
	}
	for (size_t i = at; i < at + n; i++) {
		if (in->kind == INPUT_FLOAT) {
			feature_add_value(to, i, in->binary ?
					  (float)rng_below(rng, 2) :
					  fixture_random(rng));
			continue;
		}
		feature_add_id(to, i, rng_below(rng, in->hashed ? 999 :
						in->rows));
		if (in->kind == INPUT_SPARSE)
			feature_add_weight(to, i, fixture_random(rng) + 1.5f);
	}
}

/* Adds an example: random numbers, small ids, bags of 0 to 3 ids. */
static inline void
fixture_add_example(struct model_fixture *r, struct rng *rng)
{
	struct batch *b = &r->batch;

	for (size_t k = 0; k < b->features; k++)
		fixture_add_feature(&b->feature[k], b->examples, rng);
	if (b->label.input)
		fixture_add_feature(&b->label, b->examples, rng);
	b->examples++;
	b->prepared = false;
}

/* Begins a step: copies the rows that it needs from the variables. */
static inline void
fixture_pull(struct model_fixture *r)
{
	compute_begin(r->compute, &r->batch);
	for (size_t v = 0; v < r->variables; v++) {
		const struct compute_rows rows = compute_rows(r->compute, v);
		const size_t width = shape_width(r->variable[v].shape);
		float *to = compute_value(r->compute, v);

		for (size_t i = 0; i < rows.count; i++)
			memcpy(to + i * width, r->w[v] +
			       (rows.ids ? rows.ids[i] : i) * width,
			       width * sizeof(float));
	}
}

#endif
