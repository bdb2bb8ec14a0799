/*
 * layer_dropout - in training, zero some numbers and scale up the others, so
 * that the expected sum stays (inverted dropout, as in Keras).
 *
 * Which numbers are zeroed depends on the step's seed, the layer's name and the
 * place alone, so a step that is computed again drops the same ones.
 */
#include "model/layer.h"

#include "base/hash.h"
#include "base/rng.h"
#include "tensor/kernels.h"
#include "tensor/target_clones.h"

#include <string.h>

struct private {
	float rate;
	uint64_t stream;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;

	(void)m;
	if (node_wants_floats(n, f))
		return -1;
	own->rate = -1;
	if (settings_float(s, "rate", &own->rate, 0, .999999f, f))
		return -1;
	if (own->rate < 0)
		return node_missing(n, s, "rate", f);
	own->stream = hash64(n->name, strlen(n->name));
	n->shape = n->in[0]->shape;
	n->scratch = node_size(n);	/* the factor of each number */
	return 0;
}

static TARGET_CLONES void
draw(float *factor, size_t first, size_t n, uint64_t seed, uint64_t stream,
     float rate)
{
	const float kept = 1 / (1 - rate);

	for (size_t i = 0; i < n; i++)
		factor[i] = rng_unit(rng_at(seed, stream, first + i)) <
			(double)rate ? 0 : kept;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t n = p->examples * node_size(p->node);

	if (p->training)
		draw(p->scratch, p->first * node_size(p->node), n, p->seed,
		     own->stream, own->rate);
	else
		for (size_t i = 0; i < n; i++)
			p->scratch[i] = 1;
	memcpy(p->out.value, p->in[0].value, n * sizeof(float));
	kernel_multiply(p->out.value, p->scratch, n);
}

static void
backward(const struct pass *p)
{
	kernel_add_product(p->in[0].gradient, p->out.gradient, p->scratch,
			   p->examples * node_size(p->node));
}

const struct layer layer_dropout = {
	.name = "dropout", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.build = build, .forward = forward, .backward = backward
};
