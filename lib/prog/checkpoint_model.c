#include "prog/checkpoint_model.h"

#include "base/mem.h"
#include "store/rows.h"

#include <stdlib.h>
#include <string.h>

static int
read_hashed(struct checkpoint_model *s, size_t i, const struct variable *v,
	    struct fail *f)
{
	const struct rows all = { 0, HASHED_RANGES };
	uint64_t updates = 0;

	s->hashed[i] = (struct hashed){ v, checkpoint_info(s->from)->seed };
	s->table[i] = hashed_table(&s->hashed[i], all.count);
	return rows_restore(s->from, v, s->table[i], all, true, &updates, f);
}

static int
read_whole(struct checkpoint_model *s, struct fail *f)
{
	size_t variables;
	const struct variable *v = model_variables(s->model, &variables);

	s->value = mem_alloc(variables, sizeof(*s->value));
	s->table = mem_alloc(variables, sizeof(*s->table));
	s->hashed = mem_alloc(variables, sizeof(*s->hashed));
	for (size_t i = 0; i < variables; i++) {
		const struct rows all = { 0, shape_rows(v[i].shape) };

		if (v[i].hashed && read_hashed(s, i, &v[i], f) < 0)
			return -1;
		if (v[i].table || v[i].unused)
			continue;
		s->value[i] = mem_alloc(shape_size(v[i].shape),
					sizeof(float));
		if (checkpoint_read(s->from, v[i].name, "", v[i].shape, all,
				    s->value[i], NULL, f) < 0)
			return -1;
	}
	return 0;
}

int
checkpoint_model_open(struct checkpoint_model *s, struct checkpoint **from,
		      struct fail *f)
{
	*s = (struct checkpoint_model){ .from = *from };
	*from = NULL;
	s->model = model_parse(checkpoint_model(s->from), f);
	if (!s->model)
		fail_at(f, "%s", checkpoint_path(s->from));
	if (s->model && read_whole(s, f) == 0)
		return 0;
	checkpoint_model_close(s);
	return -1;
}

void
checkpoint_model_close(struct checkpoint_model *s)
{
	size_t variables = 0;

	if (s->model)
		model_variables(s->model, &variables);
	for (size_t i = 0; s->value && i < variables; i++)
		free(s->value[i]);
	for (size_t i = 0; s->table && i < variables; i++)
		table_free(s->table[i]);
	free(s->table);
	free(s->hashed);
	free(s->value);
	model_free(s->model);
	checkpoint_close(s->from);
	*s = (struct checkpoint_model){ 0 };
}

/* Read rows; ids that follow each other are one read. */
static int
read_rows(struct checkpoint_model *s, const struct variable *v,
	  const struct compute_rows *rows, float *to, struct fail *f)
{
	const size_t width = shape_width(v->shape);
	size_t n;

	for (size_t i = 0; i < rows->count; i += n) {
		n = 1;
		while (i + n < rows->count &&
		       rows->ids[i + n] == rows->ids[i] + n)
			n++;
		if (checkpoint_read(s->from, v->name, "", v->shape,
				    (struct rows){ rows->ids[i], n },
				    to + i * width, NULL, f) < 0)
			return -1;
	}
	return 0;
}

int
checkpoint_model_fill(struct checkpoint_model *s, struct compute *c,
		      struct fail *f)
{
	size_t variables;
	const struct variable *v = model_variables(s->model, &variables);

	for (size_t i = 0; i < variables; i++) {
		const struct compute_rows rows = compute_rows(c, i);
		float *to = compute_value(c, i);

		if (!compute_uses(c, i))
			continue;
		if (s->table[i])
			table_pull(s->table[i], rows.ids, rows.count, to);
		else if (!s->value[i] && read_rows(s, &v[i], &rows, to, f) < 0)
			return -1;
		if (s->value[i])
			memcpy(to, s->value[i], shape_size(v[i].shape) *
			       sizeof(float));
	}
	return 0;
}
