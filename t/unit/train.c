/* Whole models learn, with a server's arithmetic but without a server. */
#include "model_fixture.h"

#include "base/hash.h"
#include "tap.h"

#include <math.h>

static const char avengers[] =
	"input    feature string[3] vocab=avenger,ironman,batman,hulk,"
	"spiderman,kingkong,wonder_woman\n"
	"label    label   string    vocab=no,yes\n"
	"emb    = embedding feature dim=20\n"
	"mean   = reduce_mean emb\n"
	"prob   = dense mean units=1 activation=sigmoid\n"
	"loss     binary_crossentropy prob\n"
	"metric   accuracy prob\n"
	"optimizer rmsprop learning_rate=0.1\n";

struct trainer {
	struct model_fixture fixture;
	float **slot[OPTIMIZER_SLOTS];
	uint64_t t;
};

static void
trainer_begin(struct trainer *t, const char *text)
{
	*t = (struct trainer){ 0 };
	fixture_begin(&t->fixture, text);
	for (size_t k = 0; k < OPTIMIZER_SLOTS; k++)
		t->slot[k] = mem_alloc(t->fixture.variables, sizeof(float *));
	for (size_t v = 0; v < t->fixture.variables; v++) {
		const struct variable *var = &t->fixture.variable[v];
		const size_t n = shape_size(var->shape);

		initializer_fill(&var->initializer, var->name, var->shape, 1,
				 0, t->fixture.w[v], n);
		for (size_t k = 0; k < var->optimizer->slots; k++) {
			t->slot[k][v] = mem_alloc(n, sizeof(float));
			for (size_t i = 0; i < n; i++)
				t->slot[k][v][i] =
					var->optimizer->slot_start[k];
		}
	}
}

static void
trainer_end(struct trainer *t)
{
	for (size_t k = 0; k < OPTIMIZER_SLOTS; k++) {
		for (size_t v = 0; v < t->fixture.variables; v++)
			free(t->slot[k][v]);
		free(t->slot[k]);
	}
	fixture_end(&t->fixture);
}

static void
apply(struct trainer *t, size_t v)
{
	const struct variable *var = &t->fixture.variable[v];
	const struct compute_rows rows = compute_rows(t->fixture.compute, v);
	const size_t width = shape_width(var->shape);
	float *g = compute_gradient(t->fixture.compute, v);

	for (size_t i = 0; i < rows.count; i++) {
		const size_t at = (rows.ids ? rows.ids[i] : i) * width;
		struct update u = {
			.w = t->fixture.w[v] + at, .n = width,
			.sum = g + i * width,
			.examples = (float)t->fixture.batch.examples,
			.learning_rate = schedule_at(&var->optimizer->schedule,
						     t->t - 1),
			.t = t->t
		};

		for (size_t k = 0; k < var->optimizer->slots; k++)
			u.slot[k] = t->slot[k][v] + at;
		optimizer_apply(var->optimizer, &u);
	}
}

/* Does a step on the batch of the fixture; returns the mean loss before it. */
static double
train(struct trainer *t)
{
	struct compute *c = t->fixture.compute;
	struct fail f;

	t->t++;
	fixture_pull(&t->fixture);
	compute_train(c, t->t, NULL);
	compute_clip(c);
	if (compute_check(c, &f)) {
		printf("# %s\n", f.text);
		return 1e9;
	}
	for (size_t v = 0; v < t->fixture.variables; v++)
		apply(t, v);
	return compute_loss(c) / (double)t->fixture.batch.examples;
}

/* The tutorial's rule: yes if an avenger is among the three. */
static void
add_avengers(struct batch *b, struct rng *rng)
{
	static const char *const words[] = {
		"avenger", "ironman", "batman", "hulk", "spiderman",
		"kingkong", "wonder_woman"
	};
	struct feature *x = &b->feature[0];
	bool yes = false;

	for (size_t i = 0; i < 3; i++) {
		const uint64_t n = rng_below(rng, 7);

		yes = yes || n == 0;
		feature_add_id(x, 3 * b->examples + i, lookup_find(
			x->input->lookup, words[n], strlen(words[n])));
	}
	feature_add_id(&b->label, b->examples, yes);
	b->examples++;
}

static void
test_avengers(void)
{
	const struct metric *metric;
	struct metric_state state = { 0 };
	struct rng rng = { .seed = 3 };
	struct trainer t;
	size_t metrics;

	trainer_begin(&t, avengers);
	metric = model_metrics(t.fixture.model, &metrics);
	ok(metrics == 1 && strcmp(metric_name(metric), "accuracy") == 0);
	for (int step = 0; step < 40; step++) {
		batch_reset(&t.fixture.batch);
		for (int i = 0; i < 10; i++)
			add_avengers(&t.fixture.batch, &rng);
		if (step >= 20)
			compute_metrics((fixture_pull(&t.fixture),
					 compute_forward(t.fixture.compute),
					 t.fixture.compute), &state);
		train(&t);
	}
	equals(metric_value(metric, &state), 1);
	metric_release(&state);
	trainer_end(&t);
}

/* A table trains as a dense kernel over all ids, on any batch. */
static void
test_table_equals_dense(const char *optimizer)
{
	static const char head[] =
		"input s id[] rows=7\nlabel t binary\n"
		"loss binary_crossentropy y from_logits=true\n";
	struct rng rng = { .seed = 5 };
	struct trainer table, dense;
	char text[512];
	float worst = 0;

	snprintf(text, sizeof(text), "%sy = linear s\noptimizer %s\n", head,
		 optimizer);
	trainer_begin(&table, text);
	snprintf(text, sizeof(text), "%sx = category_encoding s "
		 "output_mode=count\ny = dense x units=1 "
		 "kernel_initializer=zeros\noptimizer %s\n", head,
		 optimizer);
	trainer_begin(&dense, text);
	for (int step = 0; step < 50; step++) {
		batch_reset(&table.fixture.batch);
		batch_reset(&dense.fixture.batch);
		for (int e = 0; e < 6; e++) {
			fixture_add_example(&table.fixture, &rng);
			batch_append(&dense.fixture.batch, &table.fixture.batch,
				     (size_t)e);
		}
		train(&table);
		train(&dense);
	}
	for (size_t i = 0; i < 7; i++) {
		const float off = table.fixture.w[0][i] - dense.fixture.w[0][i];

		worst = fmaxf(worst, fabsf(off));
	}
	ok(worst < 1e-6f && fabsf(table.fixture.w[0][0]) > 1e-3f);
	trainer_end(&table);
	trainer_end(&dense);
}

#define WIDE_AND_DEEP(rate) \
	"input s sparse[30]\nlabel t binary\nwide = linear s\n" \
	"e = embedding s dim=4 combiner=mean\n" \
	"h = dense e units=8 activation=relu kernel_regularizer=l2:0.01\n" \
	"d = dropout h rate=" rate "\ndeep = dense d units=1\n" \
	"y = add wide deep\nloss binary_crossentropy y from_logits=true\n" \
	"optimizer ftrl for=wide/* learning_rate=0.1\n" \
	"optimizer adam learning_rate=0.03\n"

/* Returns the gradient of wide/kernel over examples first to end. */
static void
gradient_of(struct model_fixture *r, const struct model_fixture *all,
	    size_t first, size_t end, float *sum)
{
	batch_reset(&r->batch);
	for (size_t i = first; i < end; i++)
		batch_append(&r->batch, &all->batch, i);
	fixture_pull(r);
	compute_train(r->compute, 0, NULL);

	const struct compute_rows rows = compute_rows(r->compute, 0);

	for (size_t i = 0; i < rows.count; i++)
		sum[rows.ids[i]] += compute_gradient(r->compute, 0)[i];
}

/* The gradients of pieces of a batch add up to that of the batch; small pieces
   follow large ones. */
static void
test_pieces(void)
{
	float whole[30] = { 0 }, again[30] = { 0 }, pieces[30] = { 0 };
	struct rng rng = { .seed = 8 };
	struct model_fixture all, r;
	float worst = 0;

	fixture_begin(&all, WIDE_AND_DEEP("0"));
	fixture_begin(&r, WIDE_AND_DEEP("0"));
	fixture_fill(&r, &rng);
	for (int e = 0; e < 100; e++)
		fixture_add_example(&all, &rng);
	gradient_of(&r, &all, 0, 100, whole);
	for (size_t i = 0; i < 100; i += 9)
		gradient_of(&r, &all, i, i + 9 < 100 ? i + 9 : 100, pieces);
	for (size_t i = 0; i < 30; i++)
		worst = fmaxf(worst, fabsf(whole[i] - pieces[i]));
	ok(worst < 1e-5f && fabsf(whole[0]) > 1e-3f);
	gradient_of(&r, &all, 0, 100, again);
	ok(same_floats(again, whole, sizeof(whole) / sizeof(*whole)));
	gradient_of(&r, &all, 3, 3, again);
	equals(compute_loss(r.compute), 0);
	ok(same_floats(again, whole, sizeof(whole) / sizeof(*whole)));
	fixture_end(&all);
	fixture_end(&r);
}

/* Sums over the examples of several batches. */
struct sums {
	double loss;
	struct metric_state state[2];
	float *gradient[8];	/* of whole variables */
};

static void
train_in_steps(struct model_fixture *r, const struct model_fixture *all,
	       size_t size, struct sums *to)
{
	const size_t examples = all->batch.examples;

	*to = (struct sums){ 0 };
	for (size_t v = 0; v < r->variables; v++)
		to->gradient[v] = mem_alloc(shape_size(r->variable[v].shape),
					    sizeof(float));
	for (size_t first = 0; first < examples; first += size) {
		batch_reset(&r->batch);
		batch_append_run(&r->batch, &all->batch, first,
				 examples - first < size ? examples - first :
				 size);
		fixture_pull(r);
		compute_train(r->compute, 0, to->state);
		to->loss += compute_loss(r->compute);
		for (size_t v = 0; v < r->variables; v++) {
			const struct compute_rows rows =
				compute_rows(r->compute, v);
			const size_t width = shape_width(r->variable[v].shape);
			const float *from = compute_gradient(r->compute, v);

			for (size_t i = 0; i < rows.count * width; i++)
				to->gradient[v][rows.ids ? rows.ids[i / width] *
					width + i % width : i] += from[i];
		}
	}
}

/* Do the numbers differ by no more than rounding? */
static bool
about_same(const float *a, const float *b, size_t n)
{
	float most = 0, worst = 0;

	for (size_t i = 0; i < n; i++) {
		most = fmaxf(most, fabsf(a[i]));
		worst = fmaxf(worst, fabsf(a[i] - b[i]));
	}
	return most > 1 && worst < 1e-4f * most;
}

/* A batch of inputs of all kinds is so large that it is computed in blocks. */
static void
test_blocks(void)
{
	static const char text[] =
		"input i id[2] rows=40\ninput s sparse[30]\n"
		"input x float[3]\ninput w float\nlabel t binary\n"
		"e = embedding i dim=4\nf = flatten e\n"
		"g = embedding s dim=4 combiner=mean\nwide = linear s\n"
		"a = concat f x g\n"
		"h = dense a units=8 activation=relu "
		"kernel_regularizer=l2:0.01\n"
		"deep = dense h units=1\ny = add wide deep\n"
		"loss binary_crossentropy y from_logits=true "
		"sample_weight=w\nmetric accuracy\nmetric log_loss\n";
	struct rng rng = { .seed = 21 };
	const struct metric *metric;
	struct model_fixture all, r;
	struct sums whole, small;
	size_t n, right = 0;

	fixture_begin(&all, text);
	fixture_begin(&r, text);
	fixture_fill(&r, &rng);
	for (int e = 0; e < 50000; e++)
		fixture_add_example(&all, &rng);
	train_in_steps(&r, &all, 50000, &whole);
	train_in_steps(&r, &all, 700, &small);
	ok(fabs(whole.loss - small.loss) < 1e-6 * fabs(small.loss));
	metric = model_metrics(r.model, &n);
	for (size_t k = 0; k < n; k++)
		right += fabs(metric_value(&metric[k], &whole.state[k]) -
			      metric_value(&metric[k], &small.state[k])) <
			1e-9;
	ok(n == 2 && right == 2);
	for (size_t v = 0; v < r.variables; v++) {
		named_for(about_same(small.gradient[v], whole.gradient[v],
				     shape_size(r.variable[v].shape)),
			  "the gradient of %s is the same in blocks",
			  r.variable[v].name);
		free(whole.gradient[v]);
		free(small.gradient[v]);
	}
	fixture_end(&all);
	fixture_end(&r);
}

/* Dropout depends on the place in the batch, and not on the block. */
static void
test_dropped(void)
{
	struct model_fixture r;
	double kept = 0;
	const size_t n = 300000;

	fixture_begin(&r,
		      "input x float\nlabel t float\nd = dropout x rate=0.5\n"
		      "y = dense d units=1 use_bias=false\n"
		      "loss mean_absolute_error y\n");
	for (size_t i = 0; i < n; i++) {
		feature_add_value(&r.batch.feature[0], i, 1);
		feature_add_value(&r.batch.label, i, 0);
		kept += rng_unit(rng_at(5, hash64("d", 1), i)) < .5 ? 0 : 2;
	}
	r.batch.examples = n;
	r.w[0][0] = 1;
	fixture_pull(&r);
	compute_train(r.compute, 5, NULL);
	ok(compute_loss(r.compute) == kept && kept > .99 * (double)n);
	equals((double)*compute_gradient(r.compute, 0), kept);
	fixture_end(&r);
}

/* A batch of any size is normalized as a whole: here 0, then 2. */
static void
test_normalized(void)
{
	const size_t n = 300000;
	struct model_fixture r;

	fixture_begin(&r, "input x float\nlabel t float\n"
		      "b = batch_normalization x scale=false center=false\n"
		      "y = dense b units=1 use_bias=false\n"
		      "loss mean_absolute_error y\n");
	for (size_t i = 0; i < n; i++) {
		feature_add_value(&r.batch.feature[0], i, i < n / 2 ? 0 : 2);
		feature_add_value(&r.batch.label, i, 0);
	}
	r.batch.examples = n;
	for (size_t v = 0; v < r.variables; v++)
		r.w[v][0] = 1;
	fixture_pull(&r);
	compute_train(r.compute, 5, NULL);
	ok(fabs(compute_loss(r.compute) - (double)n / sqrt(1.001)) < .1);
	fixture_end(&r);
}

/* The same steps give the same bits, also with dropout, and learn. */
static void
test_repeat(void)
{
	struct trainer t[2];
	double first = 0, last = 0;

	for (int k = 0; k < 2; k++) {
		struct rng rng = { .seed = 2 };

		trainer_begin(&t[k], WIDE_AND_DEEP("0.3"));
		for (int e = 0; e < 40; e++)
			fixture_add_example(&t[k].fixture, &rng);
		for (int step = 0; step < 300; step++) {
			last = train(&t[k]);
			first = step == 0 ? last : first;
		}
	}
	ok(last < first / 2);
	for (size_t v = 0; v < t[0].fixture.variables; v++)
		ok(memcmp(t[0].fixture.w[v], t[1].fixture.w[v],
			  shape_size(t[0].fixture.variable[v].shape) *
			  sizeof(float)) == 0);
	trainer_end(&t[0]);
	trainer_end(&t[1]);
}

static void
test_check(void)
{
	struct rng rng = { .seed = 2 };
	struct fail f = { 0 };
	struct model_fixture r;

	fixture_begin(&r, "input x float[2]\ny = dense x units=1\n"
		      "label t float\nloss mean_squared_error y\n"
		      "optimizer sgd clipvalue=0.25\n");
	fixture_add_example(&r, &rng);
	fixture_add_example(&r, &rng);
	r.w[1][0] = 100;
	fixture_pull(&r);
	compute_train(r.compute, 0, NULL);
	equals(compute_check(r.compute, &f), 0);
	compute_clip(r.compute);
	ok(compute_gradient(r.compute, 1)[0] == .5f);

	r.w[1][0] = 1e30f;
	fixture_pull(&r);
	compute_train(r.compute, 0, NULL);
	equals(compute_check(r.compute, &f), 0);
	r.batch.feature[0].value[0] = 1e30f;
	fixture_pull(&r);
	compute_train(r.compute, 0, NULL);
	ok(compute_check(r.compute, &f) == -1 && f.kind == FAIL_DATA &&
	   strcmp(f.text, "the gradient of y/kernel has infinite numbers or "
		  "NaNs; a smaller learning_rate or a clipnorm may help") ==
	   0);
	r.w[1][0] = NAN;
	fixture_pull(&r);
	compute_train(r.compute, 0, NULL);
	ok(compute_check(r.compute, &f) == -1 &&
	   strcmp(f.text, "the loss is not a number; a smaller learning_rate "
		  "or a clipnorm may help") == 0);
	fixture_end(&r);
}

/* A gradient that is being sent does not change in the next step. */
static void
test_held_gradient(void)
{
	struct rng rng = { .seed = 5 };
	struct refcount *hold;
	struct model_fixture r;
	float *sum, first;

	fixture_begin(&r, "input x float[4]\nlabel y float\n"
		      "out = dense x units=1\nloss mean_squared_error out\n"
		      "optimizer sgd\n");
	fixture_fill(&r, &rng);
	fixture_add_example(&r, &rng);
	fixture_pull(&r);
	compute_train(r.compute, 0, NULL);
	sum = compute_gradient(r.compute, 0);
	hold = compute_gradient_hold(r.compute, 0);
	first = *sum;
	ok(first != 0);
	refcount_take(hold);
	fixture_pull(&r);
	ok(compute_gradient(r.compute, 0) != sum && *sum == first);
	ok(compute_gradient_hold(r.compute, 0) != hold);
	sum = compute_gradient(r.compute, 0);
	fixture_pull(&r);
	ok(compute_gradient(r.compute, 0) == sum);
	fixture_end(&r);
	ok(refcount_alone(hold));
	refcount_drop(hold);
}

int
main(void)
{
	test_avengers();
	test_table_equals_dense("sgd learning_rate=0.5");
	test_table_equals_dense("adagrad learning_rate=0.5");
	test_pieces();
	test_blocks();
	test_dropped();
	test_normalized();
	test_repeat();
	test_check();
	test_held_gradient();
	return tap_done();
}
