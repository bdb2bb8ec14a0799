/*
 * layers - which layers there are: the table.
 */
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

/* One letter more, less or other, or two neighbours swapped? */
static bool
near(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	for (; n > 0 && m > 0 && *a == *b; n--, m--)
		a++, b++;
	for (; n > 0 && m > 0 && a[n - 1] == b[m - 1]; n--, m--)
		;
	return (n <= 1 && m <= 1) ||
	       (n == 2 && m == 2 && a[0] == b[1] && a[1] == b[0]);
}

const char *
layer_guess(const char *name)
{
	for (size_t i = 0; i < LAYERS; i++)
		if (near(layers[i]->name, name))
			return layers[i]->name;
	for (size_t i = 0; activation_name(i); i++)
		if (near(activation_name(i), name))
			return activation_name(i);
	return NULL;
}
