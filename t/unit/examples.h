/*
 * examples - inputs for readers, and the examples that were read as text, to be
 * compared.
 *
 * An example is a line: the label, then " | " and the values of each input.
 */
#ifndef PS_EXAMPLES_H
#define PS_EXAMPLES_H

#include "base/mem.h"
#include "base/text.h"
#include "data/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fail examples_fail;

/* Makes an input of model.ps:1; free its name. */
static inline struct input
examples_input(const char *name, enum input_kind kind, uint64_t rows,
	       size_t width)
{
	struct input in = {
		.name = mem_text(name), .kind = kind, .rows = rows,
		.where = "model.ps:1"
	};

	if (width > 1)
		in.shape = (struct shape){ 1, { width } };
	return in;
}

static inline void
examples_add(struct text *t, const struct feature *x, size_t i)
{
	const size_t width = input_width(x->input);
	const size_t first = width ? i * width : x->offset[i];
	const size_t end = width ? first + width : x->offset[i + 1];

	for (size_t k = first; k < end; k++) {
		if (k > first)
			text_add(t, " ");
		if (x->input->kind == INPUT_FLOAT)
			text_add(t, "%g", (double)(x->value[k] + 0));
		else
			text_add(t, "%llu", (unsigned long long)
				 feature_id(x, k));
		if (x->input->kind == INPUT_SPARSE && x->weight)
			text_add(t, ":%g", (double)x->weight[k]);
	}
}

static inline void
examples_add_all(struct text *t, const struct batch *b)
{
	for (size_t i = 0; i < b->examples; i++) {
		if (b->label.input)
			examples_add(t, &b->label, i);
		for (size_t k = 0; k < b->features; k++) {
			text_add(t, " | ");
			examples_add(t, &b->feature[k], i);
		}
		text_add(t, "\n");
	}
}

/*
 * Reads the files (separated by commas) in batches of size, but at most this
 * many examples.  Returns them as text, or the kind and text of a failure; free
 * it.
 */
static inline char *
examples_read(const char *files, const struct reader_options *options,
	      const struct input *inputs, size_t count,
	      const struct input *label, size_t size, size_t batches)
{
	struct fail *f = &examples_fail;
	char *list = mem_text(files);
	size_t n;
	char **file = text_split(list, ',', &n);
	struct reader *r = reader_open(file, n, options, inputs, count, label,
				       f);
	struct text t = { 0 };
	struct batch b;
	int got = r ? 1 : -1;

	batch_begin(&b, inputs, count, label);
	text_add(&t, "%s", "");
	for (size_t i = 0; got > 0 && i < batches; i++) {
		got = reader_next(r, size, &b, f);
		if (got > 0)
			examples_add_all(&t, &b);
	}
	if (got < 0) {
		text_reset(&t);
		text_add(&t, "%d %s", (int)f->kind, f->text);
	}
	batch_release(&b);
	reader_close(r);
	free(file);
	free(list);
	return t.data ? t.data : mem_text("");
}

#endif
