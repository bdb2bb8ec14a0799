/* Where the numbers of each node are kept, and that no buffer is used again
   while its numbers are still needed. */
#include "model_fixture.h"

#include "model/buffer_plan.h"
#include "model/graph.h"
#include "tap.h"

#define HEAD	"input a float[3]\ninput w id[3] rows=4\n"		\
		"input r id[] rows=4\nlabel y binary\n"
#define LOSS	"z = dense t units=1\n"					\
		"loss binary_crossentropy z from_logits=true\n"

static struct model_fixture fixture;

/* Returns the node of the layer with this name; an activation has the same name
   as its input, which is below it. */
static const struct node *
layer(const char *name)
{
	return model_find(fixture.model, name);
}

static const struct node *
under(const char *name)
{
	return layer(name)->in[0];
}

static bool
alone(const struct node *n)
{
	return buffer_plan_room(n) == n &&
		buffer_plan_stride(n) == node_size(n);
}

static void
with(const char *text)
{
	if (fixture.model)
		fixture_end(&fixture);
	fixture_begin(&fixture, text);
}

static void
activations(void)
{
	with(HEAD "d = dense a units=2 activation=relu\nv = flatten d\n"
	     "t = add d v\n" LOSS);
	ok(buffer_plan_room(layer("d")) == under("d"));
	ok(buffer_plan_room(layer("v")) == under("d"));
	ok(alone(under("d")) && alone(layer("t")) && alone(layer("a")));

	/* Its gradient needs its input. */
	with(HEAD "t = dense a units=2 activation=gelu\n" LOSS);
	ok(alone(layer("t")) && alone(under("t")));

	/* Another layer needs its input. */
	with(HEAD "d = dense a units=2\nt = relu d\ne = add d t\n" LOSS);
	ok(alone(layer("t")));
	with(HEAD "p = dense a units=1 activation=sigmoid\n"
	     "loss binary_crossentropy p\n");
	ok(alone(layer("p")));
	with(HEAD "t = dense a units=1\np = dense a units=1 "
	     "activation=sigmoid\n" LOSS "metric auc p\n");
	ok(alone(layer("p")));
	with(HEAD "t = dense a units=1\np = dense a units=1 "
	     "activation=sigmoid\n" LOSS "metric accuracy p\n");
	ok(!alone(layer("p")));

	/* An input must not be changed, nor a value that a layer still
	   needs. */
	with(HEAD "t = relu a\n" LOSS);
	ok(alone(layer("t")));
	with(HEAD "d = dense a units=2\ns = softmax d\nt = relu s\n" LOSS);
	ok(alone(layer("t")));
}

static void
tables(void)
{
	with(HEAD "e = embedding w dim=2\nf = flatten e\n"
	     "g = embedding r dim=4 combiner=sum\nt = concat f a g\n" LOSS);
	ok(buffer_plan_room(layer("e")) == layer("t") &&
	   layer("e")->home_at == 0);
	ok(buffer_plan_room(layer("f")) == layer("t"));
	ok(buffer_plan_room(layer("g")) == layer("t") &&
	   layer("g")->home_at == 9);
	ok(buffer_plan_stride(layer("e")) == 13 &&
	   buffer_plan_stride(layer("g")) == 13);
	ok(alone(layer("a")) && alone(layer("t")));

	/* A value that is used twice has a buffer of its own. */
	with(HEAD "g = embedding r dim=4 combiner=sum\nc = concat g a\n"
	     "d = concat a g\nt = concat c d\n" LOSS);
	ok(alone(layer("g")));
	with(HEAD "g = embedding r dim=4 combiner=sum\nt = concat g g\n" LOSS);
	ok(alone(layer("g")));
	with(HEAD "e = embedding w dim=2\nf = flatten e\n"
	     "s = reduce_sum e\nt = concat f s\n" LOSS);
	ok(alone(layer("e")));

	/* With two axes the numbers of an example are not contiguous. */
	with(HEAD "e = embedding w dim=2\nf = embedding w dim=3\n"
	     "t = concat e f\nu = flatten t\nz = dense u units=1\n"
	     "loss binary_crossentropy z from_logits=true\n");
	ok(alone(layer("e")) && alone(layer("f")));
}

int
main(void)
{
	activations();
	tables();
	fixture_end(&fixture);
	return tap_done();
}
