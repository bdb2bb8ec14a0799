/* Several batches in one step: each is computed as if it were the whole step,
   and gradients are added in a tree. */
#include "model/accumulate.h"

#include "model_fixture.h"
#include "tap.h"

#include <math.h>

#define SIZE	5		/* examples of a batch */
#define MOST	9		/* batches */
#define SEED	77
#define FIRST	3

#define GRAPH \
	"input i id[3] rows=40\ninput s sparse[30]\ninput x float[4]\n" \
	"label y binary\n" \
	"e = embedding i dim=3 combiner=sum embeddings_regularizer=l2:0.01\n" \
	"l = embedding s dim=2 combiner=mean\n" \
	"h = dense x units=6 activation=relu kernel_regularizer=l1:0.02\n" \
	"n = batch_normalization h\nd = dropout n rate=0.3\n" \
	"a = concat e l d\np = dense a units=1 activation=sigmoid\n" \
	"loss binary_crossentropy p\nmetric accuracy p\n"

static const char text[] =
	GRAPH "optimizer sgd learning_rate=0.1 clipnorm=0.7\n";
static const char local[] =
	GRAPH "optimizer sgd learning_rate=1\n"
	"local sgd learning_rate=0.3 clipnorm=0.7 steps=4\n";

static struct model_fixture fixture;

/* The full gradient of some batches, with loss and metrics. */
struct total {
	float *gradient[32];
	double loss;
	uint64_t examples;
	struct metric_state state[1];
};

static void
total_begin(struct total *t)
{
	*t = (struct total){ 0 };
	for (size_t v = 0; v < fixture.variables; v++)
		t->gradient[v] =
			mem_alloc(shape_size(fixture.variable[v].shape),
					   sizeof(float));
}

static void
total_end(struct total *t)
{
	for (size_t v = 0; v < fixture.variables; v++)
		free(t->gradient[v]);
	metric_release(&t->state[0]);
}

/* Adds the computed gradient to zeros, as a full gradient. */
static void
spread(struct compute *c, struct total *t)
{
	for (size_t v = 0; v < fixture.variables; v++) {
		const struct compute_rows rows = compute_rows(c, v);
		const size_t width = shape_width(fixture.variable[v].shape);

		for (size_t i = 0; i < rows.count; i++)
			for (size_t k = 0; k < width; k++)
				t->gradient[v][(rows.ids ? rows.ids[i] : i) *
					       width + k] +=
					compute_gradient(c, v)[i * width + k];
	}
	t->loss += compute_loss(c);
	t->examples += compute_examples(c);
}

/* Computes batch k of the fixture as a step of its own. */
static void
alone(size_t k, struct total *t)
{
	const struct batch all = fixture.batch;
	const size_t left = all.examples - k * SIZE;
	const struct input *input;
	struct fail f;
	size_t inputs;

	total_begin(t);
	input = model_inputs(fixture.model, &inputs);
	batch_begin(&fixture.batch, input, inputs, model_label(fixture.model));
	batch_append_run(&fixture.batch, &all, k * SIZE,
			 left < SIZE ? left : SIZE);
	fixture_pull(&fixture);
	compute_train(fixture.compute, SEED ^ (uint64_t)(FIRST + k) << 40,
		      t->state);
	equals(compute_check(fixture.compute, &f), 0);
	compute_clip(fixture.compute);
	spread(fixture.compute, t);
	batch_release(&fixture.batch);
	fixture.batch = all;
}

/* Computes node (level, at) of the tree over count batches, each alone. */
static void
node(unsigned level, size_t at, size_t count, struct total *t)
{
	const size_t half = level > 0 ? (size_t)1 << (level - 1) : 0;
	struct total right;

	if (level == 0) {
		alone(at, t);
		return;
	}
	node(level - 1, at, count, t);
	if (at + half >= count)
		return;
	node(level - 1, at + half, count, &right);
	for (size_t v = 0; v < fixture.variables; v++)
		for (size_t i = 0; i < shape_size(fixture.variable[v].shape);
		     i++)
			t->gradient[v][i] += right.gradient[v][i];
	t->loss += right.loss;
	t->examples += right.examples;
	for (size_t i = 0; i < METRIC_SUMS; i++)
		t->state[0].sum[i] += right.state[0].sum[i];
	total_end(&right);
}

static bool
same(const struct total *a, const struct total *b)
{
	for (size_t v = 0; v < fixture.variables; v++)
		for (size_t i = 0; i < shape_size(fixture.variable[v].shape);
		     i++)
			if (a->gradient[v][i] != b->gradient[v][i]) {
				printf("# %s %zu: %.9g, not %.9g\n",
				       fixture.variable[v].name, i,
				       (double)a->gradient[v][i],
				       (double)b->gradient[v][i]);
				return false;
			}
	return a->examples == b->examples &&
		fabs(a->loss - b->loss) < 1e-12 * fabs(b->loss) &&
		memcmp(a->state[0].sum, b->state[0].sum,
		       sizeof(a->state[0].sum)) == 0;
}

static bool
as_a_tree(struct accumulator *a, size_t examples, struct rng *rng)
{
	const size_t count = (examples + SIZE - 1) / SIZE;
	const struct accumulation how = {
		.batch = &fixture.batch, .size = SIZE, .seed = SEED,
		.first = FIRST
	};
	struct total got, tree;
	struct fail f;
	bool good;

	batch_reset(&fixture.batch);
	while (fixture.batch.examples < examples)
		fixture_add_example(&fixture, rng);
	node(4, 0, count, &tree);
	total_begin(&got);
	fixture_pull(&fixture);
	good = accumulate_train(a, fixture.compute, &how, got.state, &f) == 0 &&
		compute_check(fixture.compute, &f) == 0;
	spread(fixture.compute, &got);
	good = good && same(&got, &tree);
	total_end(&got);
	total_end(&tree);
	return good;
}

static void
test_trees(void)
{
	struct accumulator *a = accumulator_new(fixture.model, NULL, NULL);
	struct rng rng = { .seed = 5 };

	for (size_t n = 1; n <= MOST; n++)
		named_for(as_a_tree(a, n * SIZE, &rng),
			  "the gradients of %zu batches are added in a tree",
			  n);
	named(as_a_tree(a, 2 * SIZE + 1, &rng),
	      "the last batch of a tree may be smaller");
	accumulator_free(a);
}

/* ---- local steps ---- */

/* Trains w on batch k with the optimizer of the local line, and adds the moving
   averages to sum. */
static void
train_alone(size_t k, float *const *w, struct total *sum)
{
	struct total t;

	alone(k, &t);
	for (size_t v = 0; v < fixture.variables; v++)
		for (size_t i = 0; i < shape_size(fixture.variable[v].shape);
		     i++) {
			const float g = t.gradient[v][i];

			if (fixture.variable[v].local)
				w[v][i] -= .3f * (g / (float)t.examples);
			else
				sum->gradient[v][i] += g;
		}
	sum->loss += t.loss;
	sum->examples += t.examples;
	for (size_t i = 0; i < METRIC_SUMS; i++)
		sum->state[0].sum[i] += t.state[0].sum[i];
	total_end(&t);
}

/* Trains on batches of SIZE one after the other, as local steps do. */
static void
one_by_one(size_t batches, struct total *sum)
{
	struct total start;

	total_begin(sum);
	total_begin(&start);
	for (size_t v = 0; v < fixture.variables; v++)
		memcpy(start.gradient[v], fixture.w[v], sizeof(float) *
		       shape_size(fixture.variable[v].shape));
	for (size_t k = 0; k < batches; k++)
		train_alone(k, fixture.w, sum);
	for (size_t v = 0; v < fixture.variables; v++)
		for (size_t i = 0; fixture.variable[v].local &&
		     i < shape_size(fixture.variable[v].shape); i++) {
			sum->gradient[v][i] = (float)sum->examples *
				(start.gradient[v][i] - fixture.w[v][i]);
			fixture.w[v][i] = start.gradient[v][i];
		}
	total_end(&start);
}

static void
test_local(void)
{
	struct rng rng = { .seed = 7 };
	const struct accumulation how = {
		.batch = &fixture.batch, .size = SIZE, .seed = SEED,
		.first = FIRST
	};
	struct accumulator *a;
	struct total got, expected;
	struct fail f;

	fixture_begin(&fixture, local);
	fixture_fill(&fixture, &rng);
	a = accumulator_new(fixture.model, NULL, NULL);
	while (fixture.batch.examples < 3 * SIZE)
		fixture_add_example(&fixture, &rng);
	one_by_one(3, &expected);
	for (int i = 0; i < 2; i++) {
		total_begin(&got);
		fixture_pull(&fixture);
		equals(accumulate_train(a, fixture.compute, &how, got.state,
					&f), 0);
		spread(fixture.compute, &got);
		named(same(&got, &expected),
		      i == 0 ? "each batch trains a copy of the model, and "
		      "the step takes their average" :
		      "the next step starts from the pulled values again");
		total_end(&got);
	}
	total_end(&expected);
	accumulator_free(a);
	fixture_end(&fixture);
}

static void
test_faults(void)
{
	struct accumulator *a = accumulator_new(fixture.model, NULL, NULL);
	const struct accumulation how =
		{ .batch = &fixture.batch, .size = SIZE };
	struct rng rng = { .seed = 6 };
	struct fail f;
	size_t x = 2;

	batch_reset(&fixture.batch);
	while (fixture.batch.examples < 3 * SIZE)
		fixture_add_example(&fixture, &rng);
	fixture.batch.feature[x].value[2 * SIZE * 4] = INFINITY;
	fixture_pull(&fixture);
	named(accumulate_train(a, fixture.compute, &how, NULL, &f) < 0 &&
	      f.kind == FAIL_DATA,
	      "a batch that cannot be computed fails the whole step");
	fixture.batch.feature[x].value[2 * SIZE * 4] = 1;
	fixture_pull(&fixture);
	named(accumulate_train(a, fixture.compute, &how, NULL, &f) == 0,
	      "a step after a failed one succeeds");
	accumulator_free(a);
}

int
main(void)
{
	struct rng rng = { .seed = 4 };

	fixture_begin(&fixture, text);
	fixture_fill(&fixture, &rng);
	test_trees();
	test_faults();
	fixture_end(&fixture);
	test_local();
	return tap_done();
}
