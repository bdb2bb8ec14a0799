#include "model/external.h"

size_t
external_size(const struct external_array *a)
{
	return shape_size(a->shape) * (a->examples > 0 ? a->examples : 1);
}

size_t
external_bytes(const struct external_array *a)
{
	return external_size(a) * (a->id ? sizeof(*a->id) : sizeof(*a->at));
}
