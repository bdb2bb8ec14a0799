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

void
external_answer_begin(struct external_answer *a, uint64_t examples)
{
	text_reset(&a->result);
	a->loss = 0;
	a->has_loss = false;
	a->examples = examples;
	a->metrics = 0;
	a->shares = a->ended = false;
}
