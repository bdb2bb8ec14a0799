/*
 * layer_conv1d - filters that slide along the first axis and cover all of the
 * last: Keras's Conv1D.
 *
 * The part of the input under a filter, a window of kernel_size rows, is copied
 * to one row of a matrix for each place, so that one matrix product does all.
 * An input row that lies in several windows is copied for each.
 */
#include "model/layer.h"

#include "tensor/kernels.h"

#include <string.h>

#define MOST	((uint64_t)1 << 24)

struct private {
	size_t steps, channels;		/* of the input: [steps, channels] */
	size_t places, filters;		/* of the output: [places, filters] */
	size_t size, strides;
	size_t before;			/* rows of zeros before the first row */
	bool use_bias;
};

enum { KERNEL, BIAS };

/* ---- shapes and variables ---- */

/*
 * Set the zeros before the input and the number of windows.  Return -1 for an
 * unknown padding.
 */
static int
pad(struct private *own, const char *padding)
{
	const size_t places = (own->steps + own->strides - 1) / own->strides;
	const size_t reach = (places - 1) * own->strides + own->size;

	own->places = places;
	if (strcmp(padding, "causal") == 0) {
		own->before = own->size - 1;
	} else if (strcmp(padding, "same") == 0) {
		own->before = reach > own->steps ?
			(reach - own->steps) / 2 : 0;
	} else if (strcmp(padding, "valid") == 0) {
		own->places = own->size > own->steps ? 0 :
			(own->steps - own->size) / own->strides + 1;
	} else {
		return -1;
	}
	return 0;
}

static int
place(struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	const char *padding = settings_text(s, "padding");
	char dims[SHAPE_TEXT];

	if (n->in[0]->shape.rank != 2)
		return fail(f, FAIL_CONFIG, "%s: %s: conv1d takes [steps, "
			    "channels], but %s is %s", n->where, n->name,
			    n->in[0]->name,
			    shape_text(n->in[0]->shape, dims));
	own->steps = n->in[0]->shape.dim[0];
	own->channels = n->in[0]->shape.dim[1];
	if (pad(own, padding ? padding : "valid") < 0)
		return fail(f, FAIL_CONFIG, "%s: %s: padding=%s is not valid, "
			    "same or causal", n->where, n->name, padding);
	if (own->places == 0)
		return fail(f, FAIL_CONFIG, "%s: %s: kernel_size=%zu is more "
			    "than the %zu steps of %s; padding=same would do",
			    n->where, n->name, own->size, own->steps,
			    n->in[0]->name);
	return 0;
}

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	struct private *own = n->private;
	uint64_t filters = 0, size = 0, strides = 1;

	own->use_bias = true;
	if (node_wants_floats(n, f) ||
	    settings_uint(s, "filters", &filters, 1, MOST, f) ||
	    settings_uint(s, "kernel_size", &size, 1, MOST, f) ||
	    settings_uint(s, "strides", &strides, 1, MOST, f) ||
	    settings_bool(s, "use_bias", &own->use_bias, f))
		return -1;
	if (filters == 0 || size == 0)
		return node_missing(n, s, filters == 0 ? "filters" :
				    "kernel_size", f);
	own->filters = (size_t)filters;
	own->size = (size_t)size;
	own->strides = (size_t)strides;
	if (place(n, s, f))
		return -1;
	n->shape = (struct shape){ 2, { own->places, own->filters } };
	if (own->size > NODE_FLOATS / own->channels / own->places)
		return fail(f, FAIL_CONFIG, "%s: %s: its windows are too "
			    "large for one example; the limit is %zu numbers",
			    n->where, n->name, NODE_FLOATS);
	n->scratch = own->places * own->size * own->channels;

	const struct shape kernel = { 3, { own->size, own->channels,
					   own->filters } };
	const struct shape bias = { 1, { own->filters } };

	if (node_variable(m, n, "kernel", kernel, false, "glorot_uniform", s,
			  f))
		return -1;
	return own->use_bias ?
	       node_variable(m, n, "bias", bias, false, "zeros", s, f) : 0;
}

/* ---- a batch ---- */

/* The rows of an example that lie in the window at a place. */
struct window {
	size_t first, count;	/* rows of the input */
	size_t skipped;		/* rows of zeros before them */
};

static struct window
window_at(const struct private *own, size_t place)
{
	const size_t from = place * own->strides;
	const size_t end = from + own->size - own->before;
	struct window w;

	/*
	 * Every window has rows of the input, because fewer zeros are added
	 * than a window is long.
	 */
	w.skipped = own->before > from ? own->before - from : 0;
	w.first = from + w.skipped - own->before;
	w.count = (end < own->steps ? end : own->steps) - w.first;
	return w;
}

static void
unfold_windows(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t width = own->channels, all = own->size * width;
	float *to = p->scratch;

	for (size_t e = 0; e < p->examples; e++)
		for (size_t i = 0; i < own->places; i++, to += all) {
			const struct window w = window_at(own, i);

			if (w.count < own->size)
				memset(to, 0, all * sizeof(float));
			memcpy(to + w.skipped * width, p->in[0].value +
			       (e * own->steps + w.first) * width,
			       w.count * width * sizeof(float));
		}
}

/* Add the gradient of each window to that of the input rows in it. */
static void
fold_gradients(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t width = own->channels, all = own->size * width;
	const float *from = p->scratch;

	for (size_t e = 0; e < p->examples; e++)
		for (size_t i = 0; i < own->places; i++, from += all) {
			const struct window w = window_at(own, i);

			kernel_add(p->in[0].gradient +
				   (e * own->steps + w.first) * width,
				   from + w.skipped * width, w.count * width);
		}
}

static void
forward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t rows = p->examples * own->places;

	unfold_windows(p);
	kernel_fill_rows(p->out.value, own->use_bias ? p->w[BIAS] : NULL,
			 rows, own->filters);
	kernel_gemm((struct gemm){ .m = rows, .n = own->filters,
				   .k = own->size * own->channels,
				   .add = true },
		    p->scratch, p->w[KERNEL], p->out.value);
}

static void
backward(const struct pass *p)
{
	const struct private *own = p->node->private;
	const size_t rows = p->examples * own->places;
	const size_t width = own->size * own->channels;

	kernel_gemm((struct gemm){ .m = width, .n = own->filters, .k = rows,
				   .transpose_a = true, .add = true },
		    p->scratch, p->out.gradient, p->dw[KERNEL]);
	if (own->use_bias)
		kernel_add_rows(p->dw[BIAS], p->out.gradient, rows,
				own->filters);
	if (!p->in[0].gradient)
		return;
	/*
	 * The windows are not needed any more, so their gradient overwrites
	 * them.
	 */
	kernel_gemm((struct gemm){ .m = rows, .n = width, .k = own->filters,
				   .transpose_b = true },
		    p->out.gradient, p->w[KERNEL], p->scratch);
	fold_gradients(p);
}

const struct layer layer_conv1d = {
	.name = "conv1d", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(struct private),
	.takes_activation = true, .build = build, .forward = forward,
	.backward = backward
};
