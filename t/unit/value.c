/* The output of every layer, activation and loss for given numbers, against its
   formula. */
#include "model_fixture.h"

#include "model/layer.h"
#include "tap.h"

#include <math.h>

#define HEAD	"input a float[3]\ninput b float[3]\ninput one float\n"	\
		"input m float[2,3]\ninput w id[3] rows=4\n"		\
		"input r id[] rows=4\ninput s sparse[4]\n"		\
		"input none id[] rows=4\n"

static const float a[] = { .5f, -1.5f, 2 }, b[] = { 1, .25f, -3 };
static const float m[] = { 1, 2, 4, -1, 0, .5f };

/* Row i of a table of width 2 is e[i]. */
static const float e[4][2] = { { 1, 2 }, { -3, .5f }, { .25f, 4 }, { 5, -1 } };

static void
add_values(struct feature *to, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		feature_add_value(to, i, x[i]);
}

/*
 * Fills one example: w is 2 0 2, r is 1 1 3, s is 1:0.5 3:-2, the input "none"
 * is empty.
 */
static void
fill(struct model_fixture *r, float label)
{
	static const uint64_t w[] = { 2, 0, 2 }, bag[] = { 1, 1, 3 };
	static const uint64_t id[] = { 1, 3 };
	static const float one = 7, weight[] = { .5f, -2 };
	struct feature *f = r->batch.feature;

	add_values(&f[0], a, 3);
	add_values(&f[1], b, 3);
	add_values(&f[2], &one, 1);
	add_values(&f[3], m, 6);
	for (size_t i = 0; i < 3; i++) {
		feature_add_id(&f[4], i, w[i]);
		feature_add_id(&f[5], i, bag[i]);
	}
	feature_set_offset(&f[5], 1, 3);
	for (size_t i = 0; i < 2; i++) {
		feature_add_id(&f[6], i, id[i]);
		feature_add_weight(&f[6], i, weight[i]);
	}
	feature_set_offset(&f[6], 1, 2);
	feature_set_offset(&f[7], 1, 0);
	if (r->batch.label.input->kind == INPUT_ID)
		feature_add_id(&r->batch.label, 0, (uint64_t)label);
	else
		feature_add_value(&r->batch.label, 0, label);
	r->batch.examples = 1;
}

/* Sets tables to e, and other weights except the probe's to .1 .2 .3 ... */
static void
set_weights(struct model_fixture *r)
{
	for (size_t v = 0; v < r->variables; v++)
		for (size_t i = 0; i < shape_size(r->variable[v].shape); i++)
			r->w[v][i] = r->variable[v].table ?
				     (&e[0][0])[i] : .1f * (float)(i + 1);
}

/* Layers, and the outputs of y for this example. */
static const struct {
	const char *lines;
	size_t n;
	double want[12];
} cases[] = {
	{ "y = dense a units=2", 2,
	  { .5 * .1 - 1.5 * .3 + 2 * .5 + .1,
	    .5 * .2 - 1.5 * .4 + 2 * .6 + .2 } },
	{ "y = dense a units=1 use_bias=false activation=relu", 1,
	  { .5 * .1 - 1.5 * .2 + 2 * .3 } },
	{ "y = dense m units=1", 2,
	  { 1 * .1 + 2 * .2 + 4 * .3 + .1, -1 * .1 + .5 * .3 + .1 } },
	{ "y = dense one units=1", 1, { 7 * .1 + .1 } },
	{ "y = linear a", 1, { .5 * .1 - 1.5 * .2 + 2 * .3 + .1 } },
	{ "y = linear s", 1, { .5 * 2 - 2 * .5 + .1 } },
	{ "y = linear s units=2", 2,
	  { .5 * -3 - 2 * 5 + .1, .5 * .5 - 2 * -1 + .2 } },
	{ "y = linear w use_bias=false", 1, { -3 + 1 - 3 } },
	{ "y = linear none", 1, { .1 } },
	{ "y = embedding w dim=2", 6, { .25, 4, 1, 2, .25, 4 } },
	{ "y = embedding w dim=2 combiner=sum", 2, { 1.5, 10 } },
	{ "y = embedding w dim=2 combiner=mean", 2, { .5, 10 / 3. } },
	{ "y = embedding r dim=2 combiner=sqrtn", 2,
	  { -1 / 1.7320508075688772, 0 } },
	{ "y = embedding s dim=2 combiner=sum", 2,
	  { .5 * -3 - 2 * 5, .5 * .5 - 2 * -1 } },
	{ "y = embedding s dim=2 combiner=mean", 2,
	  { (.5 * -3 - 2 * 5) / -1.5, (.5 * .5 - 2 * -1) / -1.5 } },
	{ "y = embedding s dim=2 combiner=sqrtn", 2,
	  { (.5 * -3 - 2 * 5) / 2.0615528128088303,
	    (.5 * .5 - 2 * -1) / 2.0615528128088303 } },
	{ "y = embedding none dim=2 combiner=mean", 2, { 0, 0 } },
	{ "y = factorization s factors=2", 1,
	  { (-3 * 5 + .5 * -1) * .5 * -2 } },
	{ "y = factorization w factors=2", 1,
	  { 2 * (.25 * 1 + 4 * 2) + .25 * .25 + 4 * 4 } },
	{ "y = concat a one b", 7, { .5, -1.5, 2, 7, 1, .25, -3 } },
	{ "y = concat m m", 12, { 1, 2, 4, 1, 2, 4, -1, 0, .5, -1, 0, .5 } },
	{ "y = concat m m axis=1", 12,
	  { 1, 2, 4, -1, 0, .5, 1, 2, 4, -1, 0, .5 } },
	{ "y = add a b a", 3, { 2, -2.75, 1 } },
	{ "y = subtract a b", 3, { -.5, -1.75, 5 } },
	{ "y = multiply a b a", 3, { .25, .5625, -12 } },
	{ "y = average a b", 3, { .75, -.625, -.5 } },
	{ "y = maximum a b", 3, { 1, .25, 2 } },
	{ "y = dot a b", 1, { .5 - .375 - 6 } },
	{ "y = dot a b normalize=true", 1,
	  { (.5 - .375 - 6) / (2.5495097567963922 * 3.1721443851123800) } },
	{ "y = dot m m", 4, { 21, 1, 1, 1.25 } },
	{ "y = dot m m normalize=true", 4,
	  { 1, 1 / (4.582575694955840 * 1.1180339887498949),
	    1 / (4.582575694955840 * 1.1180339887498949), 1 } },
	{ "y = reduce_mean m", 3, { 0, 1, 2.25 } },
	{ "y = reduce_mean m axis=2", 2, { 7 / 3., -.5 / 3 } },
	{ "y = reduce_sum m axis=-1 keepdims=true", 2, { 7, -.5 } },
	{ "y = reduce_sum a", 1, { 1 } },
	{ "y = reduce_max m", 3, { 1, 2, 4 } },
	{ "y = reduce_max m axis=2 keepdims=true", 2, { 4, .5 } },
	{ "y = reduce_max a", 1, { 2 } },
	/* The results of Keras, for .25 4, 1 2, .25 4. */
	{ "q = embedding w dim=2\n"
	  "y = conv1d q filters=2 kernel_size=2", 4,
	  { 3.225, 4.05, 3.725, 4.55 } },
	{ "q = embedding w dim=2\n"
	  "y = conv1d q filters=2 kernel_size=1 strides=2", 4,
	  { 1.325, 1.85, 1.325, 1.85 } },
	{ "q = embedding w dim=2\n"
	  "y = conv1d q filters=2 kernel_size=3 padding=same", 6,
	  { 6.125, 6.95, 7.85, 9.1, 3.725, 4.55 } },
	{ "q = embedding w dim=2\n"
	  "y = conv1d q filters=2 kernel_size=3 padding=same strides=2", 4,
	  { 6.125, 6.95, 3.725, 4.55 } },
	{ "q = embedding w dim=2\n"
	  "y = conv1d q filters=2 kernel_size=4 padding=same", 6,
	  { 12.45, 13.7, 7.85, 9.1, 3.725, 4.55 } },
	{ "q = embedding w dim=2\n"
	  "y = conv1d q filters=2 kernel_size=2 padding=causal", 6,
	  { 3.025, 3.55, 3.225, 4.05, 3.725, 4.55 } },
	{ "q = embedding w dim=2\n"
	  "y = conv1d q filters=1 kernel_size=3 padding=causal strides=2", 2,
	  { 2.625, 4.55 } },
	/* The attention is Keras's, for the query 7 -.5 over these rows; the
	   weights are not. */
	{ "q = reduce_sum m axis=2\ny = attention w q dim=2", 2,
	  { .997115433, 2.0076921 } },
	{ "q = reduce_sum m axis=2\ny = attention w q dim=2 scale=.1", 2,
	  { .61222738, 3.03406048 } },
	{ "q = reduce_sum m axis=2\ny = attention r q dim=2 scale=.1", 2,
	  { 4.94548273, -.989777982 } },
	{ "q = reduce_sum m axis=2\nx = embedding w dim=2\n"
	  "y = attention w q share=x scale=.1", 2,
	  { .61222738, 3.03406048 } },
	{ "q = reduce_sum m axis=2\ny = attention s q dim=2 scale=.1", 2,
	  { 5.00686723, -1.00128761 } },
	{ "q = reduce_sum m axis=2\ny = attention none q dim=2", 2, { 0, 0 } },
	{ "y = flatten m", 6, { 1, 2, 4, -1, 0, .5 } },
	{ "q = reshape m target_shape=[3,2]\ny = reduce_sum q", 2,
	  { 1 + 4 + 0, 2 - 1 + .5 } },
	{ "y = dropout a rate=0.9", 3, { .5, -1.5, 2 } },
	{ "y = rescaling a scale=2 offset=-1", 3, { 0, -4, 3 } },
	{ "y = normalization m mean=1,0,-1 variance=4,1,0.25", 6,
	  { 0, 2, 10, -1, 0, 3 } },
	{ "y = normalization a mean=1 variance=4", 3, { -.25, -1.25, .5 } },
	{ "y = layer_normalization a scale=false center=false", 3,
	  { (.5 - 1 / 3.) / 1.434069578352304,
	    (-1.5 - 1 / 3.) / 1.434069578352304,
	    (2 - 1 / 3.) / 1.434069578352304 } },
	{ "y = layer_normalization a", 3,
	  { .1 * (.5 - 1 / 3.) / 1.434069578352304 + .1,
	    .2 * (-1.5 - 1 / 3.) / 1.434069578352304 + .2,
	    .3 * (2 - 1 / 3.) / 1.434069578352304 + .3 } },
	{ "y = batch_normalization a", 3,
	  { .1 * (.5 - .1) / .31780497164141407 + .1,
	    .2 * (-1.5 - .2) / .44833023542919788 + .2,
	    .3 * (2 - .3) / .54863466897380809 + .3 } },
	{ "y = batch_normalization m scale=false center=false", 6,
	  { (1 - .1) / .31780497164141407, (2 - .2) / .44833023542919788,
	    (4 - .3) / .54863466897380809, (-1 - .1) / .31780497164141407,
	    (0 - .2) / .44833023542919788, (.5 - .3) / .54863466897380809 } },
	{ "y = category_encoding w", 4, { 1, 0, 1, 0 } },
	{ "y = category_encoding w output_mode=count", 4, { 1, 0, 2, 0 } },
	{ "y = category_encoding s output_mode=count", 4, { 0, .5, 0, -2 } },
	{ "y = relu a", 3, { .5, 0, 2 } },
	{ "q = rescaling a scale=4\ny = relu6 q", 3, { 2, 0, 6 } },
	{ "y = leaky_relu a", 3, { .5, -.3, 2 } },
	{ "y = dense a units=1 use_bias=false activation=leaky_relu "
	  "kernel_initializer=ones negative_slope=0.5", 1, { .35 } },
	{ "y = leaky_relu a negative_slope=0.5", 3, { .5, -.75, 2 } },
	{ "y = sigmoid a", 3,
	  { .62245933120185459, .18242552380635635, .88079707797788231 } },
	{ "q = rescaling a scale=100\ny = sigmoid q", 3, { 1, 0, 1 } },
	{ "q = rescaling a scale=3\ny = hard_sigmoid q", 3,
	  { .75, 0, 1 } },
	{ "y = tanh a", 3,
	  { .46211715726000976, -.90514825364486644, .96402758007581690 } },
	{ "y = gelu a", 3,
	  { .34573123063700656, -.10021080193280560, 1.9544997361036416 } },
	{ "y = elu a", 3, { .5, -.77686983985157017, 2 } },
	{ "y = elu a alpha=2", 3, { .5, -1.5537396797031403, 2 } },
	{ "y = selu a", 3,
	  { .52535049367774277, -1.3658142075280218, 2.1014019747109711 } },
	{ "y = softplus a", 3,
	  { .97407698418010669, .20141327798275246, 2.1269280110429725 } },
	{ "y = softsign a", 3, { 1 / 3., -.6, 2 / 3. } },
	{ "y = silu a", 3,
	  { .31122966560092729, -.27363828570953453, 1.7615941559557646 } },
	{ "y = swish a", 3,
	  { .31122966560092729, -.27363828570953453, 1.7615941559557646 } },
	{ "y = exponential a", 3,
	  { 1.6487212707001282, .22313016014842982, 7.3890560989306502 } },
	{ "y = softmax a", 3,
	  { 0.1780302055061591,
	    0.0240937682868484,
	    0.7978760262069926 } },
	{ "y = dense a units=3 activation=linear use_bias=false", 3,
	  { .05 - .6 + 1.4, .1 - .75 + 1.6, .15 - .9 + 1.8 } },
};

/* Does y give these numbers?  A probe after y passes one number after the
   other. */
static bool
puts_out(struct model_fixture *r, const double *want, size_t n)
{
	const size_t last = r->variables - 1;

	if (shape_size(r->variable[last].shape) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		float got;

		for (size_t k = 0; k < n; k++)
			r->w[last][k] = k == i;
		fixture_pull(r);
		compute_forward(r->compute);
		got = *compute_prediction(r->compute);
		if (fabs((double)got - want[i]) <=
		    1e-6 * fmax(1, fabs(want[i])))
			continue;
		printf("# number %zu is %.9g, not %.9g\n", i, (double)got,
		       want[i]);
		return false;
	}
	return true;
}

static void
test_layer(const char *lines, const double *want, size_t n)
{
	char text[1024];
	struct model_fixture r;

	snprintf(text, sizeof(text), "%s%s\nflat = flatten y\n"
		 "probe = dense flat use_bias=false units=1\n"
		 "label t float\nloss mean_squared_error probe\n", HEAD,
		 lines);
	fixture_begin(&r, text);
	fill(&r, 0);
	set_weights(&r);
	named_for(puts_out(&r, want, n), "'%s' equals its formula", lines);
	fixture_end(&r);
}

/* Losses of the number 7 or the logits a, and a label. */
static const struct {
	const char *lines;
	float label;
	double want;
} losses[] = {
	{ "label t binary\ny = rescaling one scale=0.1\n"
	  "loss binary_crossentropy y", 1, .35667494393873238 },
	{ "label t binary\ny = rescaling one scale=0.1\n"
	  "loss binary_crossentropy y", 0, 1.2039728043259361 },
	{ "label t binary\ny = rescaling one scale=0.1\n"
	  "loss binary_crossentropy y label_smoothing=0.2", 1,
	  .9 * .35667494393873238 + .1 * 1.2039728043259361 },
	{ "label t binary\nloss binary_crossentropy one", 0,
	  16.118095650958320 },
	{ "label t binary\nloss binary_crossentropy one from_logits=true", 1,
	  .00091146645377420 },
	{ "label t binary\nloss binary_crossentropy one from_logits=true", 0,
	  7.0009114664537742 },
	{ "label t binary\nz = rescaling one scale=20\ny = sigmoid z\n"
	  "loss binary_crossentropy y", 0, 140 },
	{ "label t id\ny = softmax a\n"
	  "loss sparse_categorical_crossentropy y", 1, 3.725802049231600 },
	{ "label t id\n"
	  "loss sparse_categorical_crossentropy a from_logits=true", 0,
	  1.725802049231600 },
	{ "label t id\ny = rescaling a scale=0.5\n"
	  "loss sparse_categorical_crossentropy y", 0, 1.6094379124341003 },
	{ "label t float\nloss mean_squared_error one", 4.5f, 6.25 },
	{ "label t float\nloss mean_absolute_error one", 9.5f, 2.5 },
	{ "label t binary\ny = rescaling one scale=0.1\nloss hinge y", 1,
	  .3 },
	{ "label t binary\ny = rescaling one scale=0.1\nloss hinge y", 0,
	  1.7 },
	{ "label t binary\nloss hinge one", 1, 0 },
	{ "label t float\nloss huber one", 6.5f, .125 },
	{ "label t float\nloss huber one", 10, 2.5 },
	{ "label t float\nloss huber one delta=2", 10, 4 },
	{ "label t float\nloss log_cosh one", 6, .43378083048302690 },
	{ "label t float\nloss poisson one", 3,
	  7 - 3 * 1.9459101633417070 },
};

static void
test_loss(const char *lines, float label, double want)
{
	char text[1024];
	struct model_fixture r;
	double got;

	snprintf(text, sizeof(text), "%s%s\n", HEAD, lines);
	fixture_begin(&r, text);
	fill(&r, label);
	fixture_pull(&r);
	compute_train(r.compute, 1, NULL);
	got = compute_loss(r.compute);
	if (fabs(got - want) > 1e-6 * fmax(1, fabs(want)))
		printf("# %s: %.9g, not %.9g\n", lines, got, want);
	named_for(fabs(got - want) <= 1e-6 * fmax(1, fabs(want)),
		  "'%s' of label %g equals its formula",
		  strstr(lines, "loss "), (double)label);
	fixture_end(&r);
}

/* A NaN stays a NaN, and does not train as a number. */
static void
test_no_number(char *lines, float label)
{
	char text[1024];
	struct model_fixture r;

	snprintf(text, sizeof(text), "%s%s\n", HEAD, lines);
	fixture_begin(&r, text);
	fill(&r, label);
	for (size_t i = 0; i < 3; i++)
		r.batch.feature[0].value[i] = NAN;
	*r.batch.feature[2].value = NAN;
	fixture_pull(&r);
	compute_train(r.compute, 1, NULL);
	named_for(isnan(compute_loss(r.compute)), "a NaN stays a NaN in '%s'",
		  lines);
	fixture_end(&r);
}

static void
test_no_numbers(void)
{
	static const char *const kinds[] = {
		"binary_crossentropy one", "mean_squared_error one",
		"binary_crossentropy one from_logits=true", "hinge one",
		"mean_absolute_error one", "huber one", "log_cosh one",
		"poisson one"
	};
	static const char *const merges[] = { "y = maximum a b",
					      "y = maximum b a" };
	char text[512];

	for (size_t i = 0; activation_name(i); i++) {
		snprintf(text, sizeof(text), "y = %s one\nlabel t float\n"
			 "loss mean_squared_error y", activation_name(i));
		test_no_number(text, 1);
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "%s\nz = reduce_sum y\n"
			 "label t float\nloss mean_squared_error z",
			 merges[i]);
		test_no_number(text, 1);
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		snprintf(text, sizeof(text), "loss %s\nlabel t %s", kinds[i],
			 i < 4 ? "binary" : "float");
		test_no_number(text, 1);
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "y = %s\nlabel t id\n"
			 "loss sparse_categorical_crossentropy y "
			 "from_logits=%zu", i ? "rescaling a scale=1" :
			 "softmax a", i);
		test_no_number(text, 1);
	}
}

/* In training batch_normalization uses the mean and variance of the batch, and
   returns them for the moving averages. */
static void
test_batch(void)
{
	static const float x[] = { 1, 10, 2, 20, 6, 60 };
	const float *got[2];
	struct model_fixture r;

	fixture_begin(&r, "input x float[2]\n"
		      "y = batch_normalization x scale=false center=false\n"
		      "p = dense y units=1 kernel_initializer=ones\n"
		      "label t float\nloss mean_squared_error p\n");
	add_values(&r.batch.feature[0], x, 6);
	for (size_t i = 0; i < 3; i++)
		feature_add_value(&r.batch.label, i, 0);
	r.batch.examples = 3;
	r.w[2][0] = r.w[2][1] = 1;
	fixture_pull(&r);
	compute_train(r.compute, 1, NULL);

	const float *p = compute_prediction(r.compute);

	ok(fabsf(p[0] + p[1] + p[2]) < 1e-6f);
	ok(fabs((double)p[0] - (1 - 3) / sqrt(14 / 3. + .001) -
		(10 - 30) / sqrt(1400 / 3. + .001)) < 1e-6);
	for (size_t v = 0; v < 2; v++)
		got[v] = compute_gradient(r.compute, v);
	ok(got[0][0] == 9 && got[0][1] == 90);
	ok(fabsf(got[1][0] - 14) < 1e-5f && fabsf(got[1][1] - 1400) < 1e-3f);
	fixture_end(&r);
}

/* Predictions and metrics of logits are those of probabilities. */
static void
test_logits(void)
{
	struct model_fixture r;
	const float *p;

	fixture_begin(&r, HEAD "label t id\n"
		      "loss sparse_categorical_crossentropy a from_logits=1\n"
		      "metric accuracy a\nmetric log_loss\n");
	fill(&r, 2);
	fixture_pull(&r);
	compute_forward(r.compute);
	p = compute_prediction(r.compute);
	equals(model_outputs(r.model), 3);
	ok(fabsf(p[0] + p[1] + p[2] - 1) < 1e-6f && p[2] > .79f);

	struct metric_state state[2] = { 0 };
	size_t metrics;
	const struct metric *metric = model_metrics(r.model, &metrics);

	compute_metrics(r.compute, state);
	ok(metrics == 2 && metric_value(&metric[0], &state[0]) == 1);
	ok(fabs(metric_value(&metric[1], &state[1]) -
		compute_loss(r.compute)) < 1e-6);
	fixture_end(&r);
}

/* Returns the first metric for 7 and a label of 1. */
static double
metric_of_7(const char *lines)
{
	char text[1024];
	struct metric_state state[2] = { 0 };
	struct model_fixture r;
	double value;
	size_t n;

	snprintf(text, sizeof(text), "%slabel t binary\n%s", HEAD, lines);
	fixture_begin(&r, text);
	fill(&r, 1);
	fixture_pull(&r);
	compute_train(r.compute, 1, state);
	value = metric_value(model_metrics(r.model, &n), state);
	for (size_t i = 0; i < n; i++)
		metric_release(&state[i]);
	fixture_end(&r);
	return value;
}

/*
 * A metric of a layer uses the output of that layer, although the loss may use
 * its input, too, to be exact.  If logits of a loss with from_logits, or the
 * input of activation=, share their name with the probabilities, the metric
 * uses the probabilities.
 */
static void
test_named(void)
{
	static const char *const kinds[] = { "mean_absolute_error",
		"mean_squared_error", "root_mean_squared_error",
		"calibration" };
	static const double want[] = { 2.5, 6.25, 2.5, 3.5 };
	const double p = 1 / (1 + exp(-3.5));
	char text[512];

	for (size_t i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "z = rescaling one scale=0.5\n"
			 "p = sigmoid z\nloss binary_crossentropy p\n"
			 "metric %s z\nmetric auc p\n", kinds[i]);
		named_for(fabs(metric_of_7(text) - want[i]) < 1e-6,
			  "%s of a layer uses the layer's output", kinds[i]);
	}
	ok(fabs(metric_of_7("z = rescaling one scale=0.5\np = sigmoid z\n"
			    "loss binary_crossentropy p\n"
			    "metric mean_absolute_error p\n") -
		(1 - p)) < 1e-6);
	ok(fabs(metric_of_7("z = rescaling one scale=0.5\np = sigmoid z\n"
			    "loss binary_crossentropy p\n"
			    "metric mean_absolute_error\n") -
		(1 - p)) < 1e-6);
	ok(fabs(metric_of_7("z = rescaling one scale=0.5\n"
			    "loss binary_crossentropy z from_logits=true\n"
			    "metric mean_absolute_error z\n") -
		(1 - p)) < 1e-6);
	ok(fabs(metric_of_7("p = dense one units=1 activation=sigmoid "
			    "kernel_initializer=zeros\n"
			    "loss binary_crossentropy p\n"
			    "metric mean_absolute_error p\n") - .5) < 1e-6);
	/* Of 0.35 the probability is above 0.5, the logit is not. */
	ok(metric_of_7("z = rescaling one scale=0.05\np = sigmoid z\n"
		       "loss binary_crossentropy p\n"
		       "metric accuracy z\n") == 0);
	ok(metric_of_7("z = rescaling one scale=0.05\np = sigmoid z\n"
		       "loss binary_crossentropy p\n"
		       "metric accuracy z threshold=0\n") == 1);
}

/* Returns the auc of -30 and 20, which are negative examples, and 30 and 40,
   which are positive. */
static double
auc(const char *lines)
{
	static const float x[] = { -30, 20, 30, 40 };
	struct metric_state state = { 0 };
	struct model_fixture r;
	double value;
	size_t n;

	fixture_begin(&r, lines);
	for (size_t i = 0; i < 4; i++) {
		feature_add_value(&r.batch.feature[0], i, x[i]);
		if (r.batch.label.input->kind == INPUT_ID)
			feature_add_id(&r.batch.label, i, i > 1);
		else
			feature_add_value(&r.batch.label, i, i > 1);
	}
	r.batch.examples = 4;
	fixture_pull(&r);
	compute_forward(r.compute);
	compute_metrics(r.compute, &state);
	value = metric_value(model_metrics(r.model, &n), &state);
	metric_release(&state);
	fixture_end(&r);
	return value;
}

/* As probabilities the last three round to 1, and those of class 0 to 0. */
static void
test_auc(void)
{
	ok(auc("input x float\nlabel t binary\n"
	       "loss binary_crossentropy x from_logits=true\n"
	       "metric auc\n") == 1);
	ok(auc("input x float\nlabel t binary\np = sigmoid x\n"
	       "loss binary_crossentropy p\nmetric auc\n") == 1);
	ok(auc("input x float\nlabel t id\nn = rescaling x scale=-1\n"
	       "both = concat n x\np = softmax both\n"
	       "loss sparse_categorical_crossentropy p\nmetric auc\n") == 1);
	ok(auc("input x float\nlabel t id\nn = rescaling x scale=-1\n"
	       "both = concat n x\n"
	       "loss sparse_categorical_crossentropy both from_logits=1\n"
	       "metric auc both\n") == 1);
	/* The metric uses the rounded output of the layer. */
	ok(auc("input x float\nlabel t binary\np = sigmoid x\n"
	       "q = rescaling p scale=1\nloss binary_crossentropy q\n"
	       "metric auc\n") == .75);
}

/* A penalty counts once for each example; that of a table, for the rows of the
   batch. */
static void
test_regularizers(void)
{
	struct model_fixture r;

	fixture_begin(&r, HEAD "y = embedding w dim=2 combiner=sum "
		      "embeddings_regularizer=l1_l2:0.1:0.01\n"
		      "z = dense y units=1 kernel_initializer=zeros "
		      "bias_regularizer=l1\n"
		      "label t float\nloss mean_squared_error z\n");
	fill(&r, 0);
	set_weights(&r);
	r.w[1][0] = r.w[1][1] = 0;
	r.w[2][0] = -2;
	fixture_pull(&r);
	compute_train(r.compute, 0, NULL);
	ok(fabs(compute_loss(r.compute) - (4 + .1 * (1 + 2 + .25 + 4) +
		.01 * (1 + 4 + .0625 + 16) + .01 * 2)) < 1e-6);
	fixture_end(&r);
}

/* Half of the numbers are dropped, the others doubled; each step drops
   others. */
static void
test_dropout(void)
{
	struct model_fixture r;
	double sum = 0;
	float first;

	fixture_begin(&r, "input x float[4000]\ny = dropout x rate=0.5\n"
		      "z = reduce_mean y\nlabel t float\n"
		      "loss mean_squared_error z\n");
	for (size_t i = 0; i < 4000; i++)
		feature_add_value(&r.batch.feature[0], i, 1);
	feature_add_value(&r.batch.label, 0, 0);
	r.batch.examples = 1;
	fixture_pull(&r);
	for (uint64_t seed = 0; seed < 50; seed++) {
		compute_train(r.compute, seed, NULL);
		sum += (double)*compute_prediction(r.compute);
	}
	ok(fabs(sum / 50 - 1) < .01);
	compute_train(r.compute, 1, NULL);
	first = *compute_prediction(r.compute);
	compute_train(r.compute, 2, NULL);
	ok(*compute_prediction(r.compute) != first);
	compute_train(r.compute, 1, NULL);
	equals(*compute_prediction(r.compute), first);
	fixture_end(&r);
}

/*
 * Numbers that tie for the largest share its gradient, as in TensorFlow; a NaN
 * is not hidden.
 */
static void
test_largest(void)
{
	static const float rows[] = { 1, 2, 4, 1, 0, 4 };
	static const float share[] = { .5f, 1, .5f, .5f, 0, .5f };
	struct model_fixture r;
	bool shared = true;

	fixture_begin(&r, "input u id[2] rows=2\nq = embedding u dim=3\n"
		      "y = reduce_max q\nz = reduce_sum y\nlabel t float\n"
		      "loss mean_absolute_error z\n");
	memcpy(r.w[0], rows, sizeof(rows));
	feature_add_id(&r.batch.feature[0], 0, 0);
	feature_add_id(&r.batch.feature[0], 1, 1);
	feature_add_value(&r.batch.label, 0, 0);
	r.batch.examples = 1;
	fixture_pull(&r);
	compute_train(r.compute, 0, NULL);
	for (size_t i = 0; i < 6; i++)
		shared = shared && compute_gradient(r.compute, 0)[i] ==
			share[i];
	ok(shared && compute_loss(r.compute) == 7);
	for (size_t i = 0; i < 6; i++) {
		memcpy(r.w[0], rows, sizeof(rows));
		r.w[0][i] = NAN;
		fixture_pull(&r);
		compute_forward(r.compute);
		ok(isnan(compute_loss(r.compute)));
	}
	fixture_end(&r);
}

#define MOST	67		/* no whole number of vectors */

/* Computes results and gradients of the n numbers from first on, each as an
   example. */
static void
activate(struct model_fixture *r, size_t first, size_t n, float *y,
	 float *slope)
{
	batch_reset(&r->batch);
	for (size_t i = 0; i < n; i++) {
		feature_add_id(&r->batch.feature[0], i, first + i);
		feature_add_value(&r->batch.label, i, .75f);
	}
	r->batch.examples = n;
	fixture_pull(r);
	compute_train(r->compute, 0, NULL);
	memcpy(y, compute_prediction(r->compute), n * sizeof(*y));
	memcpy(slope, compute_gradient(r->compute, 0), n * sizeof(*slope));
}

/* Are the bits the same?  All NaNs are equal. */
static bool
same(const float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(&x[i], &y[i], sizeof(*x)) != 0 &&
		    !(isnan(x[i]) && isnan(y[i])))
			return false;
	return true;
}

static const float odd[] = {
	NAN, INFINITY, -INFINITY, 0, -0.f, 6, 3, -3, 1e-40f, -1e-40f, 3e38f
};

#define ODD	(sizeof(odd) / sizeof(*odd))

static void
begin_activation(struct model_fixture *r, const char *name)
{
	struct rng rng = { .seed = 5 };
	char text[256];

	snprintf(text, sizeof(text), "input x id rows=%d\n"
		 "e = embedding x dim=1\ny = %s e\nlabel t float\n"
		 "loss mean_squared_error y\n", MOST, name);
	fixture_begin(r, text);
	for (size_t i = 0; i < MOST; i++)
		r->w[0][i] = i % 3 == 0 && i / 3 < ODD ? odd[i / 3] :
			     4 * fixture_random(&rng);
}

/* An activation of many numbers at a time equals that of each alone. */
static void
test_company(const char *name)
{
	float y[MOST], slope[MOST], y_alone[MOST], slope_alone[MOST];
	bool good = true;
	struct model_fixture r;

	begin_activation(&r, name);
	for (size_t i = 0; i < MOST; i++)
		activate(&r, i, 1, &y_alone[i], &slope_alone[i]);
	for (size_t n = 1; n <= MOST; n++) {
		activate(&r, MOST - n, n, y, slope);
		good = good && same(y, y_alone + MOST - n, n) &&
		       same(slope, slope_alone + MOST - n, n);
	}
	named_for(good, "%s of a number does not depend on the others", name);
	fixture_end(&r);
}

static bool
is_plus_0(float x)
{
	return x == 0 && !signbit(x);
}

/* The mean of very many ones is one, along either axis. */
static void
test_means(void)
{
	static const char *const shapes[] = { "1000000", "100000,2" };
	char text[256];

	for (size_t i = 0; i < 2; i++) {
		struct model_fixture r;

		snprintf(text, sizeof(text), "input x float[%s]\n"
			 "y = reduce_mean x axis=1\nz = reduce_sum y\n"
			 "label t float\nloss mean_squared_error z\n",
			 shapes[i]);
		fixture_begin(&r, text);
		for (size_t k = 0; k < (i ? 200000 : 1000000); k++)
			feature_add_value(&r.batch.feature[0], k, 1);
		feature_add_value(&r.batch.label, 0, 0);
		r.batch.examples = 1;
		fixture_pull(&r);
		compute_forward(r.compute);
		named_for(*compute_prediction(r.compute) == (i ? 2 : 1),
			  "the mean of ones over [%s] is 1", shapes[i]);
		fixture_end(&r);
	}
}

/* relu: a number that is not above 0 gives 0 and has no slope; a NaN stays a
   NaN. */
static void
test_relu(void)
{
	float y[MOST], slope[MOST];
	bool good = true;
	struct model_fixture r;

	begin_activation(&r, "relu");
	activate(&r, 0, MOST, y, slope);
	for (size_t i = 0; i < MOST; i++) {
		const float x = r.w[0][i];

		good = good && (x > 0 ? y[i] == x && slope[i] ==
				2 * (x - .75f) : isnan(x) ? isnan(y[i]) :
				is_plus_0(y[i]) && slope[i] == 0);
	}
	named(good, "relu gives 0 and no slope up to 0, and keeps a NaN");
	fixture_end(&r);
}

static float
sum(const float *x, size_t count, size_t step, float scale)
{
	double y = 0;

	for (size_t i = 0; i < count; i++)
		y += (double)x[i * step];
	return (float)((double)scale * y);
}

/* Checks the result of a layer of 5 rows of width dim. */
typedef bool check(const float *y, float (*x)[MOST], size_t dim);

static bool
is_rows(const float *y, float (*x)[MOST], size_t dim)
{
	bool good = true;

	for (size_t i = 0; i < 5; i++)
		good = good && same(y + i * dim, x[i], dim);
	return good;
}

static bool
is_mean_of_rows(const float *y, float (*x)[MOST], size_t dim)
{
	bool good = true;

	for (size_t k = 0; k < dim; k++)
		good = good && y[k] == sum(&x[0][k], 5, MOST, 1 / 5.f);
	return good;
}

static bool
is_sum_along_rows(const float *y, float (*x)[MOST], size_t dim)
{
	bool good = true;

	for (size_t i = 0; i < 5; i++)
		good = good && y[i] == sum(x[i], dim, 1, 1);
	return good;
}

static bool
makes(const char *layer, check *is, size_t dim)
{
	static const uint64_t id[] = { 7, 2, 2, 8, 0 };
	struct rng rng = { .seed = dim };
	float x[5][MOST];
	char text[256];
	struct model_fixture r;
	bool good;

	snprintf(text, sizeof(text), "input w id[5] rows=9\n"
		 "e = embedding w dim=%zu\nr = %s\ny = flatten r\n"
		 "label t id\nloss sparse_categorical_crossentropy y\n",
		 dim, layer);
	fixture_begin(&r, text);
	fixture_fill(&r, &rng);
	for (size_t i = 0; i < 5; i++) {
		feature_add_id(&r.batch.feature[0], i, id[i]);
		memcpy(x[i], r.w[0] + id[i] * dim, dim * sizeof(float));
	}
	feature_add_id(&r.batch.label, 0, 0);
	r.batch.examples = 1;
	fixture_pull(&r);
	compute_forward(r.compute);
	good = is(compute_prediction(r.compute), x, dim);
	fixture_end(&r);
	return good;
}

/* Sums over any width are exact, in the order of the numbers. */
static void
test_widths(const char *layer, check *is)
{
	bool good = true;

	for (size_t dim = 2; dim <= MOST; dim++)
		good = good && makes(layer, is, dim);
	named_for(good, "'%s' is exact for any width", layer);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		test_layer(cases[i].lines, cases[i].want, cases[i].n);
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		test_loss(losses[i].lines, losses[i].label, losses[i].want);
	for (size_t i = 0; activation_name(i); i++)
		test_company(activation_name(i));
	test_relu();
	test_widths("flatten e", is_rows);
	test_widths("reduce_mean e axis=1", is_mean_of_rows);
	test_widths("reduce_sum e axis=2", is_sum_along_rows);
	test_no_numbers();
	test_means();
	test_batch();
	test_logits();
	test_named();
	test_auc();
	test_regularizers();
	test_dropout();
	test_largest();
	return tap_done();
}
