/*
 * Every layer, activation, loss and regularizer against finite differences,
 * by each weight, on random batches with repeated ids, bags and weights.
 *
 * Differences with steps h and h/2 are extrapolated to h = 0 (Richardson),
 * which leaves an error of the fourth power of h, so the rounding of floats
 * dominates.
 */
#include "model_fixture.h"

#include "tap.h"

#include <float.h>
#include <math.h>

#define HEAD	"input a float[3]\ninput b float[3]\ninput one float\n"	\
		"input m float[2,3]\ninput w id[3] rows=5\n"		\
		"input r id[] rows=5\ninput s sparse[6]\n"		\
		"input h string[2] hash=4\n"

/* The tested lines stand between layers with weights, so that gradients flow
 * through them. */
#define END	"flat = flatten y\nend = dense flat units=1\n"		\
		"label t float\nloss mean_squared_error end\n"

#define A	HEAD "p = dense a units=3\n"
#define M	HEAD "p = dense m units=3\n"

static const struct {
	const char *name, *text;
} cases[] = {
	{ "dense", A "y = dense p units=2\n" END },
	{ "dense without bias", A "y = dense p units=2 use_bias=false\n" END },
	{ "dense on the last axis", M "y = dense p units=2\n" END },
	{ "linear of floats", A "y = linear p units=2\n" END },
	{ "linear of sparse", HEAD "y = linear s\n" END },
	{ "linear of ids, 2 units", HEAD "y = linear w units=2\n" END },
	{ "linear of a bag", HEAD "y = linear r use_bias=false\n" END },
	{ "embedding", HEAD "y = embedding w dim=2\n" END },
	{ "embedding of words", HEAD "y = embedding h dim=2\n" END },
	{ "embedding of one id",
	  "input u id rows=5\ny = embedding u dim=19\n" END },
	{ "embedding of one id, mean",
	  "input u id[1] rows=5\ny = embedding u dim=2 combiner=mean\n" END },
	{ "embedding, sum", HEAD "y = embedding w dim=2 combiner=sum\n" END },
	{ "embedding, bags, mean",
	  HEAD "y = embedding r dim=2 combiner=mean\n" END },
	{ "embedding, sparse, sum",
	  HEAD "y = embedding s dim=2 combiner=sum\n" END },
	{ "embedding, sparse, mean",
	  HEAD "y = embedding s dim=2 combiner=mean\n" END },
	{ "embedding, sparse, sqrtn",
	  HEAD "y = embedding s dim=2 combiner=sqrtn\n" END },
	{ "embedding, shared", HEAD "p = embedding w dim=3 combiner=sum\n"
	  "own = linear r units=3\nq = embedding r share=p combiner=mean\n"
	  "again = embedding w share=q combiner=sqrtn\n"
	  "y = add p own q again\n" END },
	{ "factorization of sparse", HEAD "y = factorization s factors=3\n"
	  END },
	{ "factorization of ids", HEAD "y = factorization w factors=3\n" END },
	{ "concat", A "q = dense b units=2\ny = concat p a q\n" END },
	{ "concat along the first axis",
	  M "q = dense m units=3\ny = concat p q m axis=1\n" END },
	{ "concat that tables are looked up into",
	  HEAD "p = embedding w dim=2\nf = flatten p\n"
	  "q = embedding r dim=3 combiner=mean\n"
	  "y = concat f a q\n" END },
	{ "concat of a table that others take, too",
	  HEAD "p = embedding w dim=2\nf = flatten p\n"
	  "q = embedding r dim=3 combiner=sum\n"
	  "c = concat f q q\nd = concat f a\n"
	  "e = dense c units=2\ng = dense d units=2\ny = add e g\n" END },
	{ "concat that nobody takes",
	  A "q = embedding w dim=2\nf = flatten q\nc = concat f p\n"
	  "y = dense p units=2\n" END },
	{ "concat of concats", HEAD "p = embedding w dim=2 combiner=sum\n"
	  "c = concat p a\nq = embedding r dim=4 combiner=sum\n"
	  "y = concat q c b\n" END },
	{ "embedding, dim 1, 4, 8, 16 and 32",
	  HEAD "p = embedding w dim=1\nf = flatten p\n"
	  "q = embedding w dim=4\ng = flatten q\n"
	  "u = embedding w dim=8\nh8 = flatten u\n"
	  "v = embedding w dim=16\ni = flatten v\n"
	  "x = embedding w dim=32\nj = flatten x\n"
	  "c = concat f g h8 i j\ny = dense c units=1\n" END },
	{ "add", A "q = dense b units=3\ny = add p q a p\n" END },
	{ "subtract", A "q = dense b units=3\ny = subtract p q\n" END },
	{ "multiply", A "q = dense b units=3\ny = multiply p q a\n" END },
	{ "multiply, more than a piece", HEAD "p = embedding w dim=90\n"
	  "q = embedding w dim=90\ny = multiply p q p\n" END },
	{ "average", A "q = dense b units=3\ny = average p q a\n" END },
	{ "maximum", A "q = dense b units=3\ny = maximum p q a\n" END },
	{ "dot", A "q = dense b units=3\ny = dot p q\n" END },
	{ "dot of an input", A "y = dot p b\n" END },
	{ "dot, normalized",
	  A "q = dense b units=3\ny = dot p q normalize=true\n" END },
	{ "dot of all with all",
	  M "q = embedding w dim=3\ny = dot p q\n" END },
	{ "dot of all with all, normalized",
	  M "q = embedding w dim=3\ny = dot p q normalize=true\n" END },
	{ "dot with itself", A "y = dot p p\n" END },
	{ "reduce_mean", M "y = reduce_mean p\n" END },
	{ "reduce_sum", M "y = reduce_sum p axis=-1\n" END },
	{ "reduce_sum of one axis, kept",
	  A "y = reduce_sum p keepdims=true\n" END },
	{ "reduce_mean of wide rows",
	  HEAD "q = embedding w dim=19\ny = reduce_mean q\n" END },
	{ "reduce_sum along wide rows",
	  HEAD "q = embedding w dim=19\ny = reduce_sum q axis=2\n" END },
	{ "reduce_max", M "y = reduce_max p\n" END },
	{ "reduce_max along the last axis",
	  HEAD "q = embedding w dim=5\ny = reduce_max q axis=-1\n" END },
	{ "conv1d", HEAD "q = embedding w dim=2\n"
	  "y = conv1d q filters=4 kernel_size=2\n" END },
	{ "conv1d of an input",
	  HEAD "y = conv1d m filters=2 kernel_size=1 use_bias=false\n" END },
	{ "conv1d, same, with an activation", HEAD "q = embedding w dim=2\n"
	  "y = conv1d q filters=3 kernel_size=3 padding=same "
	  "activation=tanh\n" END },
	{ "conv1d, same, by two", HEAD "q = embedding w dim=2\n"
	  "y = conv1d q filters=3 kernel_size=5 padding=same strides=2\n"
	  END },
	{ "conv1d, causal", HEAD "q = embedding w dim=2\n"
	  "y = conv1d q filters=3 kernel_size=4 padding=causal\n" END },
	{ "attention", A "y = attention w p dim=3\n" END },
	{ "attention to bags, by the same table",
	  HEAD "u = embedding w dim=3 combiner=mean\n"
	  "y = attention r u share=u scale=-.7\n" END },
	{ "attention to weighted ids, beside others", A "q = attention s p "
	  "dim=3 scale=2\n"
	  "v = dense b units=2\ny = concat p q v\n" END },
	{ "attention that an input asks for",
	  HEAD "y = attention r a dim=3\n" END },
	{ "flatten", M "y = flatten p\n" END },
	{ "reshape", M "y = reshape p target_shape=[3,2]\n" END },
	{ "a view that branches",
	  M "q = flatten p\nz = dense q units=6\ny = add q z\n" END },
	{ "dropout", M "y = dropout p rate=0.4\n" END },
	{ "rescaling", A "y = rescaling p scale=0.5 offset=2\n" END },
	{ "normalization",
	  A "y = normalization p mean=1,0,-1 variance=4,1,0.25\n" END },
	{ "layer_normalization", M "y = layer_normalization p\n" END },
	{ "layer_normalization, bare",
	  M "y = layer_normalization p scale=false center=false\n" END },
	{ "layer_normalization, beta",
	  M "y = layer_normalization p scale=false epsilon=0.1\n" END },
	{ "batch_normalization", A "y = batch_normalization p\n" END },
	{ "batch_normalization, bare",
	  M "y = batch_normalization p scale=false center=false\n" END },
	{ "batch_normalization, gamma",
	  M "y = batch_normalization p center=false epsilon=0.1\n" END },
	{ "batch_normalization of more than a part",
	  HEAD "p = embedding w dim=70\n"
	  "y = batch_normalization p epsilon=1\n" END },
	{ "category_encoding",
	  HEAD "q = category_encoding w\ny = dense q units=2\n" END },
	{ "softmax", A "y = softmax p\n" END },
	{ "relu", A "y = relu p\n" END },
	{ "relu6", A "q = rescaling p scale=4\ny = relu6 q\n" END },
	{ "leaky_relu", A "y = leaky_relu p negative_slope=0.3\n" END },
	{ "sigmoid", A "y = sigmoid p\n" END },
	{ "hard_sigmoid", A "q = rescaling p scale=3\n"
	  "y = hard_sigmoid q\n" END },
	{ "tanh", A "y = tanh p\n" END },
	{ "gelu", A "y = gelu p\n" END },
	{ "elu", A "y = elu p alpha=0.7\n" END },
	{ "selu", A "y = selu p\n" END },
	{ "softplus", A "y = softplus p\n" END },
	{ "softsign", A "y = softsign p\n" END },
	{ "silu", A "y = silu p\n" END },
	{ "swish", A "y = swish p\n" END },
	{ "exponential", A "y = exponential p\n" END },
	{ "activation=", HEAD "y = dense a units=3 activation=tanh\n" END },
	{ "activation=relu", HEAD "y = dense a units=3 activation=relu\n"
	  END },
	{ "activation=relu6", HEAD "y = dense a units=3 activation=relu6\n"
	  END },
	{ "activation=tanh on top of another, in two places",
	  HEAD "p = dense a units=3 activation=selu\n"
	  "q = dense p units=3 activation=tanh\ny = multiply q p q\n" END },
	{ "activation=leaky_relu, twice behind each other",
	  HEAD "p = dense a units=3 activation=leaky_relu\n"
	  "y = leaky_relu p negative_slope=0.5\n" END },
	{ "activation=elu", HEAD "y = linear s units=2 activation=elu\n"
	  END },
	{ "activation=exponential, and a view",
	  HEAD "p = dense m units=2 activation=exponential\n"
	  "q = flatten p\ny = dense q units=2 activation=sigmoid\n" END },
	{ "activation=gelu", HEAD "y = dense a units=3 activation=gelu\n"
	  END },
	{ "linear with an activation",
	  HEAD "y = linear s units=3 activation=softmax\n" END },
	{ "binary_crossentropy", HEAD "label t binary\n"
	  "y = dense a units=1 activation=sigmoid\n"
	  "loss binary_crossentropy y label_smoothing=0.1\n" },
	{ "binary_crossentropy from logits", HEAD "label t binary\n"
	  "y = linear s\nloss binary_crossentropy y from_logits=true\n" },
	{ "binary_crossentropy of a probability", HEAD "label t binary\n"
	  "p = dense a units=1 activation=sigmoid\n"
	  "y = rescaling p scale=0.8 offset=0.1\n"
	  "loss binary_crossentropy y\n" },
	{ "weights of examples", HEAD "label t float\ny = dense a units=1\n"
	  "loss mean_squared_error y sample_weight=one\n" },
	{ "weights of classes, and of examples that are an input, too",
	  HEAD "label t id\nboth = concat a one\n"
	  "y = dense both units=3 activation=softmax\n"
	  "loss sparse_categorical_crossentropy y sample_weight=one "
	  "class_weight=1,0.5,3\n" },
	{ "sparse_categorical_crossentropy", HEAD "label t id\n"
	  "y = dense a units=4 activation=softmax\n"
	  "loss sparse_categorical_crossentropy y\n" },
	{ "sparse_categorical_crossentropy from logits", HEAD "label t id\n"
	  "y = dense a units=4\n"
	  "loss sparse_categorical_crossentropy y from_logits=true\n" },
	{ "sparse_categorical_crossentropy of probabilities",
	  HEAD "label t id\np = dense a units=4 activation=softmax\n"
	  "y = rescaling p scale=0.9 offset=0.01\n"
	  "loss sparse_categorical_crossentropy y\n" },
	{ "sparse_categorical_crossentropy of what does not sum to 1",
	  HEAD "label t id\ny = dense a units=4 activation=sigmoid\n"
	  "loss sparse_categorical_crossentropy y\n" },
	{ "mean_squared_error", HEAD "label t float\ny = dense a units=1\n"
	  "loss mean_squared_error y\n" },
	{ "mean_absolute_error", HEAD "label t float\ny = dense a units=1\n"
	  "loss mean_absolute_error y\n" },
	{ "hinge", HEAD "label t binary\ny = dense a units=1\n"
	  "loss hinge y\n" },
	{ "huber", HEAD "label t float\ny = dense a units=1\n"
	  "loss huber y delta=0.4\n" },
	{ "log_cosh", HEAD "label t float\ny = dense a units=1\n"
	  "loss log_cosh y\n" },
	{ "poisson", HEAD "label t float\n"
	  "y = dense a units=1 activation=exponential\nloss poisson y\n" },
	{ "l1 and l2", HEAD "y = dense a units=3 kernel_regularizer=l2:0.02 "
	  "bias_regularizer=l1:0.03\n" END },
	{ "l1_l2 of a table", HEAD "y = embedding w dim=2 "
	  "embeddings_regularizer=l1_l2:0.02:0.03\n" END },
	{ "wide and deep", HEAD "label t binary\nwide = linear s\n"
	  "e = embedding s dim=3 combiner=mean\n"
	  "d = dense e units=4 activation=tanh\ndeep = dense d units=1\n"
	  "y = add wide deep\n"
	  "loss binary_crossentropy y from_logits=true\n" },
};

static double
loss_at(struct model_fixture *r)
{
	fixture_pull(r);
	compute_train(r->compute, 7, NULL);
	return compute_loss(r->compute);
}

static double
difference(struct model_fixture *r, float *x, float h)
{
	const float old = *x, up = old + h, down = old - h;

	*x = up;

	const double above = loss_at(r);

	*x = down;

	const double below = loss_at(r);

	*x = old;
	return (above - below) / ((double)up - (double)down);
}

static bool
agrees(struct model_fixture *r, size_t v, size_t i, float gradient)
{
	const float h = 1.f / 32;
	float *x = &r->w[v][i];
	const double coarse = difference(r, x, h);
	const double fine = difference(r, x, h / 2);
	const double expected = (4 * fine - coarse) / 3;
	const double error = fabs((double)gradient - expected);
	/* The rounding error of a loss is that of a few floats. */
	const double noise = 4 * (double)FLT_EPSILON * loss_at(r) /
		(double)h;

	if (error <= 4e-4 + 4e-4 * fabs(expected) + noise)
		return true;
	printf("# %s[%zu]: gradient %.7g, differences %.7g (%.7g, %.7g)\n",
	       r->variable[v].name, i, (double)gradient, expected, coarse,
	       fine);
	return false;
}

/* Returns the number of gradients that were compared; -1: one differs. */
static long
compare(struct model_fixture *r)
{
	long compared = 0;

	for (size_t v = 0; v < r->variables; v++) {
		const size_t width = shape_width(r->variable[v].shape);
		struct compute_rows rows;
		uint64_t *ids;
		float *gradient;

		if (r->variable[v].averaged)
			continue;	/* its gradient is something else */
		loss_at(r);
		rows = compute_rows(r->compute, v);
		ids = mem_alloc(rows.count, sizeof(*ids));
		for (size_t i = 0; i < rows.count; i++)
			ids[i] = rows.ids ? rows.ids[i] : i;
		gradient = mem_copy(compute_gradient(r->compute, v),
				    rows.count * width * sizeof(float));
		for (size_t i = 0; compared >= 0 && i < rows.count * width;
		     i++)
			compared = agrees(r, v, ids[i / width] * width +
					  i % width, gradient[i]) ?
				   compared + 1 : -1;
		free(ids);
		free(gradient);
	}
	return compared;
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rng rng = { .seed = 3 };
		struct model_fixture r;

		fixture_begin(&r, cases[i].text);
		fixture_fill(&r, &rng);
		for (int e = 0; e < 5; e++)
			fixture_add_example(&r, &rng);
		named_for(compare(&r) > 1,
			  "%s: gradients equal finite differences",
			  cases[i].name);
		fixture_end(&r);
	}
	return tap_done();
}
