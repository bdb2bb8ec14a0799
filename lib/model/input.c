#include "model/input.h"

size_t
input_width(const struct input *in)
{
	if (in->ragged || in->kind == INPUT_SPARSE)
		return 0;
	return shape_size(in->shape);
}
