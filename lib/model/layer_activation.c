/*
 * layer_activation - functions of each number by itself, and softmax: layers
 * of their own, and behind activation=.
 *
 * Formulas and defaults are those of keras.activations.
 */
#include "model/layer.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What relu, sigmoid ... do to one number. */
struct pointwise {
	const char *name;
	float (*value)(float x, float a);
	float (*slope)(float x, float y, float a);	/* y is value(x, a) */
	const char *key;	/* the setting called a here, or NULL */
	float start;		/* its default */
};

static float
relu(float x, float a)
{
	(void)a;
	return x > 0 ? x : 0;
}

static float
relu_slope(float x, float y, float a)
{
	(void)y, (void)a;
	return x > 0;
}

static float
relu6(float x, float a)
{
	(void)a;
	return x < 0 ? 0 : x > 6 ? 6 : x;
}

static float
relu6_slope(float x, float y, float a)
{
	(void)y, (void)a;
	return x > 0 && x < 6;
}

static float
leaky_relu(float x, float a)
{
	return x > 0 ? x : a * x;
}

static float
leaky_relu_slope(float x, float y, float a)
{
	(void)y;
	return x > 0 ? 1 : a;
}

static float
sigmoid(float x, float a)
{
	const float e = expf(-fabsf(x));

	(void)a;
	return (x < 0 ? e : 1) / (1 + e);
}

static float
sigmoid_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return y * (1 - y);
}

static float
hard_sigmoid(float x, float a)
{
	return relu6(x + 3, a) / 6;
}

static float
hard_sigmoid_slope(float x, float y, float a)
{
	return relu6_slope(x + 3, y, a) / 6;
}

static float
tanh_value(float x, float a)
{
	(void)a;
	return tanhf(x);
}

static float
tanh_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return 1 - y * y;
}

/* By the error function, not its approximation by tanh. */
static float
gelu(float x, float a)
{
	(void)a;
	return x / 2 * (1 + erff(x * (float)M_SQRT1_2));
}

static float
gelu_slope(float x, float y, float a)
{
	const float density = expf(-x * x / 2) *
			      (float)(M_2_SQRTPI * M_SQRT1_2 / 2);

	(void)y, (void)a;
	return (1 + erff(x * (float)M_SQRT1_2)) / 2 + x * density;
}

static float
elu(float x, float a)
{
	return x > 0 ? x : a * expm1f(x);
}

static float
elu_slope(float x, float y, float a)
{
	return x > 0 ? 1 : y + a;
}

/* Klambauer et al., Self-Normalizing Neural Networks, 2017. */
#define SELU_ALPHA	1.6732632423543772848170429916717f
#define SELU_SCALE	1.0507009873554804934193349852946f

static float
selu(float x, float a)
{
	(void)a;
	return SELU_SCALE * elu(x, SELU_ALPHA);
}

static float
selu_slope(float x, float y, float a)
{
	(void)a;
	return x > 0 ? SELU_SCALE : y + SELU_SCALE * SELU_ALPHA;
}

static float
softplus(float x, float a)
{
	(void)a;
	return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
}

static float
softplus_slope(float x, float y, float a)
{
	(void)y;
	return sigmoid(x, a);
}

static float
softsign(float x, float a)
{
	(void)a;
	return x / (1 + fabsf(x));
}

static float
softsign_slope(float x, float y, float a)
{
	const float d = 1 + fabsf(x);

	(void)y, (void)a;
	return 1 / (d * d);
}

static float
silu(float x, float a)
{
	return x * sigmoid(x, a);
}

static float
silu_slope(float x, float y, float a)
{
	const float s = sigmoid(x, a);

	return s + y * (1 - s);
}

static float
exponential(float x, float a)
{
	(void)a;
	return expf(x);
}

static float
exponential_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return y;
}

static const struct pointwise points[] = {
	{ "relu", relu, relu_slope, NULL, 0 },
	{ "relu6", relu6, relu6_slope, NULL, 0 },
	{ "leaky_relu", leaky_relu, leaky_relu_slope, "negative_slope", .2f },
	{ "sigmoid", sigmoid, sigmoid_slope, NULL, 0 },
	{ "hard_sigmoid", hard_sigmoid, hard_sigmoid_slope, NULL, 0 },
	{ "tanh", tanh_value, tanh_slope, NULL, 0 },
	{ "gelu", gelu, gelu_slope, NULL, 0 },
	{ "elu", elu, elu_slope, "alpha", 1 },
	{ "selu", selu, selu_slope, NULL, 0 },
	{ "softplus", softplus, softplus_slope, NULL, 0 },
	{ "softsign", softsign, softsign_slope, NULL, 0 },
	{ "silu", silu, silu_slope, NULL, 0 },
	{ "swish", silu, silu_slope, NULL, 0 },
	{ "exponential", exponential, exponential_slope, NULL, 0 },
};

#define POINTS	(sizeof(points) / sizeof(*points))

const char *
activation_name(size_t i)
{
	return i < POINTS ? points[i].name : NULL;
}

struct own {
	const struct pointwise *point;
	float a;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct own *own = n->own;

	(void)m;
	for (size_t i = 0; i < POINTS; i++)
		if (strcmp(points[i].name, n->kind) == 0)
			own->point = &points[i];
	if (node_wants_floats(n, f))
		return -1;
	n->shape = n->in[0]->shape;
	own->a = own->point->start;
	return own->point->key ?
	       settings_float(s, own->point->key, &own->a, 0, FLT_MAX, f) : 0;
}

static void
forward(const struct pass *p)
{
	const struct own *own = p->node->own;
	const size_t n = p->examples * node_size(p->node);

	for (size_t i = 0; i < n; i++)
		p->out.value[i] = own->point->value(p->in[0].value[i], own->a);
}

static void
backward(const struct pass *p)
{
	const struct own *own = p->node->own;
	const size_t n = p->examples * node_size(p->node);
	float *dx = p->in[0].gradient;

	for (size_t i = 0; i < n; i++)
		dx[i] += p->out.gradient[i] *
			 own->point->slope(p->in[0].value[i], p->out.value[i],
					   own->a);
}

const struct layer layer_activation = {
	.name = "activation", .least = 1, .most = 1,
	.own = sizeof(struct own), .activation = true,
	.build = build, .forward = forward, .backward = backward
};
