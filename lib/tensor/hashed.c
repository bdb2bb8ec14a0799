#include "tensor/hashed.h"

/*
 * Set the first values and slots of a row.  They are those of row id in an
 * array of 2^64 rows, so they do not depend on which rows are there.
 */
static void
fill_row(const void *data, uint64_t id, float *row)
{
	const struct hashed *h = data;
	const struct variable *v = h->variable;
	const size_t width = shape_width(v->shape);

	initializer_fill(&v->initializer, v->name, v->shape, h->seed,
			 (size_t)id * width, row, width);
	for (size_t s = 0; v->optimizer && s < v->optimizer->slots; s++)
		for (size_t i = 0; i < width; i++)
			row[(1 + s) * width + i] = v->optimizer->slot_start[s];
}

struct table *
hashed_table(const struct hashed *h, size_t ranges)
{
	const struct variable *v = h->variable;
	const uint64_t each = v->most / HASHED_RANGES * ranges +
		v->most % HASHED_RANGES * ranges / HASHED_RANGES;
	const struct table_kind kind = {
		.width = shape_width(v->shape),
		.slots = v->optimizer ? v->optimizer->slots : 0,
		.start = fill_row, .data = h, .admit = v->admit, .age = v->age,
		.most = v->most > 0 && each == 0 ? 1 : each
	};

	return table_new(&kind);
}
