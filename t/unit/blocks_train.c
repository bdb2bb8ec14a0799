/*
 * A batch in blocks: however many threads compute them, gradients, loss and
 * metrics are the same to the last bit, and are those of the blocks added in
 * a tree.
 */
#include "base/crew.h"
#include "model/accumulate.h"

#include "model_fixture.h"
#include "tap.h"

#include <math.h>

#define MOST	4100		/* examples */

static const char dense[] =
	"input x float[40]\nlabel y binary\n"
	"a = dense x units=33 activation=relu\n"
	"n = layer_normalization a\nd = dropout n rate=0.3\n"
	"p = dense d units=1 activation=sigmoid\n"
	"loss binary_crossentropy p\nmetric accuracy p\nmetric auc p\n"
	"optimizer sgd learning_rate=0.1\n";
static const char large[] =
	"input x float[600]\nlabel y float\n"
	"a = dense x units=900 activation=relu\np = dense a units=1\n"
	"loss mean_squared_error p\noptimizer sgd learning_rate=0.1\n";
static const char tables[] =
	"input i id[3] rows=300\ninput s sparse[5000]\n"
	"input h id[2] rows=hash\n"
	"input x float[4]\nlabel y binary\n"
	"e = embedding i dim=3 embeddings_regularizer=l2:0.01\n"
	"f = flatten e\n"
	"l = embedding s dim=17 combiner=mean\nw = linear s\n"
	"g = embedding h dim=2 combiner=sqrtn\n"
	"a = concat f l x g\nq = dense a units=1\np = add w q\n"
	"loss binary_crossentropy p from_logits=true\n"
	"optimizer adagrad learning_rate=0.1\n";
static const char shared[] =
	"input i id[3] rows=300\ninput k id rows=300\ninput s sparse[5000]\n"
	"input u float[8]\nlabel y binary\n"
	"e = embedding i dim=8 combiner=sum\nb = embedding k share=e\n"
	"t = attention i u share=e\nm = factorization s factors=5\n"
	"v = linear s\n"
	"a = concat e b t\nq = dense a units=1\np = add q m v\n"
	"loss binary_crossentropy p from_logits=true\nmetric accuracy p\n"
	"optimizer sgd learning_rate=0.1\n";
static const char whole[] =
	"input i id[3] rows=300\ninput x float[20]\nlabel y binary\n"
	"e = embedding i dim=4 combiner=sum\nc = concat e x\n"
	"a = dense c units=16\nn = batch_normalization a\n"
	"r = relu n\nm = batch_normalization r scale=false\n"
	"t = dropout m rate=0.2\nb = concat t x\n"
	"p = dense b units=1 activation=sigmoid\n"
	"loss binary_crossentropy p\nmetric auc p\n"
	"optimizer sgd learning_rate=0.1\n";

static const char normal[] =
	"input i id[3] rows=300\ninput x float[20]\nlabel y binary\n"
	"e = embedding i dim=4 combiner=sum\nc = concat e x\n"
	"v = batch_normalization c\n"
	"a = dense v units=64 activation=relu\nn = batch_normalization a\n"
	"r = relu n\nd = dense r units=9\nm = batch_normalization d\n"
	"b = concat m x\np = dense b units=1 activation=sigmoid\n"
	"loss binary_crossentropy p\nmetric accuracy p\n"
	"optimizer sgd learning_rate=0.1\n";
static const char crowded[] =
	"input k id rows=2\ninput s sparse[3]\nlabel y float\n"
	"e = embedding k dim=2\nl = linear s\na = concat e l\n"
	"p = dense a units=1\nloss mean_squared_error p\n"
	"optimizer sgd learning_rate=0.1\n";

struct total {
	float *gradient[32];
	size_t floats[32];
	double loss, metric[4];
};

static struct model_fixture fixture;

static void
take(struct total *t, struct compute *c, const struct metric_state *state)
{
	size_t metrics;
	const struct metric *metric = model_metrics(fixture.model, &metrics);

	for (size_t v = 0; v < fixture.variables; v++) {
		t->floats[v] = compute_rows(c, v).count *
			shape_width(fixture.variable[v].shape);
		t->gradient[v] = mem_resize(NULL, t->floats[v] + 1,
					    sizeof(float));
		memcpy(t->gradient[v], compute_gradient(c, v),
		       t->floats[v] * sizeof(float));
	}
	t->loss = compute_loss(c);
	for (size_t k = 0; k < metrics; k++)
		t->metric[k] = metric_value(&metric[k], &state[k]);
}

static bool
same(const struct total *a, const struct total *b)
{
	bool all = memcmp(&a->loss, &b->loss, sizeof(a->loss)) == 0 &&
		memcmp(a->metric, b->metric, sizeof(a->metric)) == 0;

	for (size_t v = 0; v < fixture.variables; v++)
		all = all && a->floats[v] == b->floats[v] &&
			memcmp(a->gradient[v], b->gradient[v],
			       a->floats[v] * sizeof(float)) == 0;
	return all;
}

static void
release(struct total *t)
{
	for (size_t v = 0; v < fixture.variables; v++)
		free(t->gradient[v]);
	*t = (struct total){ 0 };
}

static void
pull(struct compute *c)
{
	compute_begin(c, &fixture.batch);
	for (size_t v = 0; v < fixture.variables; v++) {
		const struct compute_rows rows = compute_rows(c, v);
		const size_t width = shape_width(fixture.variable[v].shape);

		for (size_t i = 0; i < rows.count * width; i++)
			compute_value(c, v)[i] = (float)((i * 37 + v * 11) %
							 101) / 101 - .5f;
	}
}

static struct total
train(struct compute *c)
{
	struct metric_state state[4] = { 0 };
	struct total t = { 0 };

	pull(c);
	compute_train(c, 77, state);
	take(&t, c, state);
	for (size_t k = 0; k < 4; k++)
		metric_release(&state[k]);
	return t;
}

static void
fill(size_t examples, struct rng *rng)
{
	batch_reset(&fixture.batch);
	for (size_t i = 0; i < examples; i++)
		fixture_add_example(&fixture, rng);
}

/* A batch gives the same bits with any number of threads. */
static void
same_for_all(const char *name, const char *model, struct crew *const *crew,
	     size_t crews)
{
	const size_t size[] = { 1, 127, 255, 256, 900, 1999, MOST,
				50000 };
	struct rng rng = { .seed = 3 };
	size_t blocks;
	bool good = true;

	fixture_begin(&fixture, model);
	for (size_t k = 0; k < sizeof(size) / sizeof(*size); k++) {
		struct total first, other;

		if (size[k] > MOST && model != crowded)
			continue;
		fill(size[k], &rng);
		compute_share(fixture.compute, NULL);
		first = train(fixture.compute);
		for (size_t i = 0; i < crews; i++) {
			compute_share(fixture.compute, crew[i]);
			other = train(fixture.compute);
			good = same(&first, &other) && good;
			release(&other);
		}
		release(&first);
	}
	named_for(good, "%s give the same bits with any number of threads",
		  name);
	blocks = compute_blocks(fixture.model,
				model == crowded ? 50000 : MOST);
	named(compute_blocks(fixture.model, 1) == 1 &&
	      blocks > 2, "a large batch has several blocks");
	fixture_end(&fixture);
}

/* Blocks equal the batches of a step with --accumulate, without dropout. */
static void
is_accumulated(const char *name, const char *model, struct crew *crew)
{
	struct accumulator *a;
	struct rng rng = { .seed = 5 };
	struct total one, several = { 0 };
	struct metric_state state[4] = { 0 };
	size_t examples = 2 * MOST, blocks;
	struct fail f;

	fixture_begin(&fixture, model);
	a = accumulator_new(fixture.model, NULL, NULL);
	while (blocks = compute_blocks(fixture.model, examples),
	       examples % blocks != 0)
		examples++;
	fill(examples, &rng);
	ok(blocks > 4);
	compute_share(fixture.compute, crew);
	one = train(fixture.compute);
	pull(fixture.compute);
	ok(accumulate_train(a, fixture.compute, &(struct accumulation){
			    .batch = &fixture.batch,
			    .size = examples / blocks }, state,
			    &f) == 0);
	take(&several, fixture.compute, state);
	/* The loss of several batches is not added as a tree. */
	several.loss = one.loss;
	named(same(&one, &several), name);
	release(&one);
	release(&several);
	for (size_t k = 0; k < 4; k++)
		metric_release(&state[k]);
	accumulator_free(a);
	fixture_end(&fixture);
}

static bool
near(double a, double b, double size)
{
	return fabs(a - b) <= 1e-5 * size;
}

static double
size_of(const float *x, size_t n)
{
	double size = 1;

	for (size_t i = 0; i < n; i++)
		size = fmax(size, fabs((double)x[i]));
	return size;
}

/* Compares a batch of one block with a batch that repeats it in many blocks. */
static void
is_repeated(const char *name, const char *model, struct crew *crew)
{
	const size_t times = 24;
	struct rng rng = { .seed = 6 };
	struct total one, many;
	struct batch once;
	size_t inputs;
	const struct input *input;
	bool good;

	fixture_begin(&fixture, model);
	compute_share(fixture.compute, crew);
	input = model_inputs(fixture.model, &inputs);
	batch_begin(&once, input, inputs, model_label(fixture.model));
	fill(200, &rng);
	batch_append_run(&once, &fixture.batch, 0, 200);
	one = train(fixture.compute);
	for (size_t i = 1; i < times; i++)
		batch_append_run(&fixture.batch, &once, 0, 200);
	good = compute_blocks(fixture.model, 200) == 1 &&
		compute_blocks(fixture.model, 200 * times) > 3;
	many = train(fixture.compute);
	good = good && near(many.loss / (double)times, one.loss, one.loss) &&
		near(many.metric[0], one.metric[0], 1);
	for (size_t v = 0; v < fixture.variables; v++) {
		const double size = size_of(one.gradient[v], one.floats[v]);

		good = good && one.floats[v] == many.floats[v];
		for (size_t i = 0; good && i < one.floats[v]; i++)
			good = near((double)many.gradient[v][i] / (double)times,
				    (double)one.gradient[v][i], size);
	}
	named(good, name);
	release(&one);
	release(&many);
	batch_release(&once);
	fixture_end(&fixture);
}

int
main(void)
{
	struct fail f;
	struct crew *crew[] = { crew_new(2, &f), crew_new(3, &f),
				 crew_new(8, &f) };
	const size_t crews = sizeof(crew) / sizeof(*crew);

	same_for_all("dense layers", dense, crew, crews);
	same_for_all("large dense layers", large, crew, crews);
	same_for_all("tables, ragged ones and hashed ones", tables, crew,
		     crews);
	same_for_all("attention, factorization, shared tables", shared, crew,
		     crews);
	same_for_all("rows that most examples have", crowded, crew, crews);
	same_for_all("batch_normalization", whole, crew, crews);
	is_accumulated("blocks are added in a tree, as batches are", shared,
		       crew[1]);
	is_repeated("a repeated batch gives a multiple of its gradient", shared,
		    crew[2]);
	is_repeated("a repeated batch that is normalized gives a multiple, too",
		    normal, crew[2]);
	same_for_all("several layers that normalize", normal, crew, crews);
	for (size_t i = 0; i < crews; i++)
		crew_free(crew[i]);
	return tap_done();
}
