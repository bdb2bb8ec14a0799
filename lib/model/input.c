#include "model/input.h"

#include "tensor/variable.h"

size_t
input_width(const struct input *in)
{
	if (in->ragged || in->kind == INPUT_SPARSE)
		return 0;
	return shape_size(in->shape);
}

bool
input_wide(const struct input *in)
{
	return in->hashed || in->rows > UINT32_MAX;
}

size_t
input_table_rows(const struct input *in)
{
	return in->hashed ? HASHED_RANGES : (size_t)in->rows;
}
