/* layers - the table of all layers. */
#include "model/layer.h"

#include <string.h>

extern const struct layer
	layer_activation, layer_add, layer_attention, layer_average,
	layer_batch_normalization,
	layer_category_encoding, layer_concat, layer_conv1d, layer_dense,
	layer_dot, layer_dropout, layer_embedding, layer_external,
	layer_factorization, layer_flatten, layer_layer_normalization,
	layer_linear, layer_maximum, layer_multiply, layer_normalization,
	layer_reduce_max, layer_reduce_mean, layer_reduce_sum, layer_rescaling,
	layer_reshape, layer_softmax, layer_subtract;

static const struct layer *const layers[] = {
	&layer_add, &layer_attention, &layer_average,
	&layer_batch_normalization,
	&layer_category_encoding, &layer_concat, &layer_conv1d, &layer_dense,
	&layer_dot, &layer_dropout, &layer_embedding, &layer_external,
	&layer_factorization, &layer_flatten, &layer_layer_normalization,
	&layer_linear, &layer_maximum, &layer_multiply, &layer_normalization,
	&layer_reduce_max, &layer_reduce_mean, &layer_reduce_sum,
	&layer_rescaling, &layer_reshape, &layer_softmax, &layer_subtract
};

#define LAYERS	(sizeof(layers) / sizeof(*layers))

const struct layer *
layer_find(const char *name)
{
	for (size_t i = 0; i < LAYERS; i++)
		if (strcmp(layers[i]->name, name) == 0)
			return layers[i];
	for (size_t i = 0; activation_name(i); i++)
		if (strcmp(activation_name(i), name) == 0)
			return &layer_activation;
	return NULL;
}

void
layer_names(struct choices *c, bool activations)
{
	for (size_t i = 0; i < LAYERS; i++)
		if (!activations || layers[i]->is_activation)
			choices_add(c, layers[i]->name);
	for (size_t i = 0; activation_name(i); i++)
		choices_add(c, activation_name(i));
}
