/*
 * layer_activation - functions of single numbers, as layers of their own and
 * for activation=.
 *
 * Formulas and defaults are those of keras.activations.
 */
#include "model/layer.h"

#include "tensor/elementary.h"
#include "tensor/kernels.h"
#include "tensor/target_clones.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * A function such as relu or sigmoid: forward replaces n numbers x by y,
 * backward multiplies n gradients by the derivative.
 */
struct pointwise {
	const char *name;
	void (*forward)(float *restrict y, size_t n, float a);
	void (*backward)(float *restrict dy, const float *x, const float *y,
			 size_t n, float a);
	bool by_output;		/* backward does not read x, which may be the
				   same array as y */
	const char *key;	/* the setting that sets a, or NULL */
	float start;		/* its default */
};

/*
 * Define both functions from NAME(x, a) and NAME_slope(x, y, a), which compute
 * one number; y is NAME(x, a), and may lie where x was.  A function that is
 * inlined into a loop of its own is vectorized, and has no branch that a
 * processor could mispredict.
 */
#define POINTWISE(name)							\
static TARGET_CLONES void						\
name##_forward(float *restrict y, size_t n, float a)			\
{									\
	for (size_t i = 0; i < n; i++)					\
		y[i] = name(y[i], a);					\
}									\
									\
static TARGET_CLONES void						\
name##_backward(float *restrict dy, const float *x, const float *y,	\
		size_t n, float a)					\
{									\
	for (size_t i = 0; i < n; i++)					\
		dy[i] *= name##_slope(x[i], y[i], a);			\
}

static inline float
relu(float x, float a)
{
	(void)a;
	return x <= 0 ? 0 : x;
}

static inline float
relu_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return !(y <= 0);
}

POINTWISE(relu)

static inline float
relu6(float x, float a)
{
	(void)a;
	return x < 0 ? 0 : x > 6 ? 6 : x;
}

static inline float
relu6_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return y > 0 && y < 6;
}

POINTWISE(relu6)

static inline float
leaky_relu(float x, float a)
{
	return x > 0 ? x : a * x;
}

static inline float
leaky_relu_slope(float x, float y, float a)
{
	(void)x;
	return y > 0 ? 1 : a;
}

POINTWISE(leaky_relu)

static inline float
sigmoid(float x, float a)
{
	const float e = (float)exp_of_negative(-fabs((double)x));

	(void)a;
	return (x < 0 ? e : 1) / (1 + e);
}

static inline float
sigmoid_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return y * (1 - y);
}

POINTWISE(sigmoid)

static inline float
hard_sigmoid(float x, float a)
{
	return relu6(x + 3, a) / 6;
}

static inline float
hard_sigmoid_slope(float x, float y, float a)
{
	(void)y;
	return relu6_slope(0, relu6(x + 3, a), a) / 6;
}

POINTWISE(hard_sigmoid)

static inline float
tanh_of(float x, float a)
{
	(void)a;
	return tanhf(x);
}

static inline float
tanh_of_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return 1 - y * y;
}

POINTWISE(tanh_of)

/*
 * gelu uses the error function, not its approximation by tanh.  Far below 0 the
 * complement erfc keeps digits that 1 + erf would lose.
 */
static inline float
normal_below(float x)
{
	return x < -1 ? erfcf(-x * (float)M_SQRT1_2) / 2 :
		(1 + erff(x * (float)M_SQRT1_2)) / 2;
}

static inline float
gelu(float x, float a)
{
	(void)a;
	return x * normal_below(x);
}

static inline float
gelu_slope(float x, float y, float a)
{
	const float density = expf(-x * x / 2) *
			      (float)(M_2_SQRTPI * M_SQRT1_2 / 2);

	(void)y, (void)a;
	return normal_below(x) + x * density;
}

POINTWISE(gelu)

static inline float
elu(float x, float a)
{
	return x > 0 ? x : a * expm1f(x);
}

static inline float
elu_slope(float x, float y, float a)
{
	(void)x;
	return y > 0 ? 1 : y + a;
}

POINTWISE(elu)

/* Klambauer et al., Self-Normalizing Neural Networks, 2017. */
#define SELU_ALPHA	1.6732632423543772848170429916717f
#define SELU_SCALE	1.0507009873554804934193349852946f

static inline float
selu(float x, float a)
{
	(void)a;
	return SELU_SCALE * elu(x, SELU_ALPHA);
}

static inline float
selu_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return y >= 0 ? SELU_SCALE : y + SELU_SCALE * SELU_ALPHA;
}

POINTWISE(selu)

static inline float
softplus(float x, float a)
{
	const double e = exp_of_negative(-fabs((double)x));

	(void)a;
	return (x > 0 ? x : 0) + (float)log1p_of_fraction(e);
}

static inline float
softplus_slope(float x, float y, float a)
{
	(void)y;
	return sigmoid(x, a);
}

POINTWISE(softplus)

static inline float
softsign(float x, float a)
{
	(void)a;
	return x / (1 + fabsf(x));
}

static inline float
softsign_slope(float x, float y, float a)
{
	const float d = 1 + fabsf(x);

	(void)y, (void)a;
	return 1 / (d * d);
}

POINTWISE(softsign)

static inline float
silu(float x, float a)
{
	return x * sigmoid(x, a);
}

static inline float
silu_slope(float x, float y, float a)
{
	const float s = sigmoid(x, a);

	return s + y * (1 - s);
}

POINTWISE(silu)

static inline float
exponential(float x, float a)
{
	(void)a;
	return expf(x);
}

static inline float
exponential_slope(float x, float y, float a)
{
	(void)x, (void)a;
	return y;
}

POINTWISE(exponential)

static const struct pointwise points[] = {
	{ "relu", relu_forward, relu_backward, true, NULL, 0 },
	{ "relu6", relu6_forward, relu6_backward, true, NULL, 0 },
	{ "leaky_relu", leaky_relu_forward, leaky_relu_backward, true,
	  "negative_slope", .2f },
	{ "sigmoid", sigmoid_forward, sigmoid_backward, true, NULL, 0 },
	{ "hard_sigmoid", hard_sigmoid_forward, hard_sigmoid_backward, false,
	  NULL, 0 },
	{ "tanh", tanh_of_forward, tanh_of_backward, true, NULL, 0 },
	{ "gelu", gelu_forward, gelu_backward, false, NULL, 0 },
	{ "elu", elu_forward, elu_backward, true, "alpha", 1 },
	{ "selu", selu_forward, selu_backward, true, NULL, 0 },
	{ "softplus", softplus_forward, softplus_backward, false, NULL, 0 },
	{ "softsign", softsign_forward, softsign_backward, false, NULL, 0 },
	{ "silu", silu_forward, silu_backward, false, NULL, 0 },
	{ "swish", silu_forward, silu_backward, false, NULL, 0 },
	{ "exponential", exponential_forward, exponential_backward, true,
	  NULL, 0 },
};

#define POINTS	(sizeof(points) / sizeof(*points))

const char *
activation_name(size_t i)
{
	return i < POINTS ? points[i].name : NULL;
}

struct private {
	const struct pointwise *point;
	float a;
};

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;

	(void)m;
	for (size_t i = 0; i < POINTS; i++)
		if (strcmp(points[i].name, n->kind) == 0)
			own->point = &points[i];
	if (node_wants_floats(n, f))
		return -1;
	n->shape = n->in[0]->shape;
	n->by_output = own->point->by_output;
	own->a = own->point->start;
	return own->point->key ?
	       settings_float(s, own->point->key, &own->a, 0, FLT_MAX, f) : 0;
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t n = p->examples * node_size(p->node);

	if (p->out.value != p->in[0].value)
		memcpy(p->out.value, p->in[0].value, n * sizeof(float));
	own->point->forward(p->out.value, n, own->a);
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t n = p->examples * node_size(p->node);

	own->point->backward(p->out.gradient, p->in[0].value, p->out.value, n,
			     own->a);
	if (p->out.gradient == p->in[0].gradient)
		return;
	if (p->in[0].fresh)
		memcpy(p->in[0].gradient, p->out.gradient, n * sizeof(float));
	else
		kernel_add(p->in[0].gradient, p->out.gradient, n);
}

const struct layer layer_activation = {
	.name = "activation", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private), .is_activation = true,
	.sets_fresh = true,
	.build = build, .forward = forward, .backward = backward
};
