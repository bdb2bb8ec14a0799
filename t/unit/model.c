/* A model file is accepted, or refused with one line that says why. */
#include "model_fixture.h"

#include "base/text.h"

#include "tap.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define END	"label t binary\nloss binary_crossentropy y from_logits=1\n"
#define OF_NUMBERS "input x float\nlabel t float\nloss huber x\n"

/* Mistakes, and their messages. */
static const struct {
	const char *text, *message;
} mistakes[] = {
	{ "", "model.ps: there is no loss line" },
	{ "# nothing\n\n", "model.ps: there is no loss line" },
	{ "inptu x float", "model.ps:1: 'inptu' begins no statement; they are "
	  "input, label, variable, NAME = LAYER, loss, step, metric, "
	  "optimizer, local, mode" },
	{ "input x", "model.ps:1: a line like 'input NAME KIND "
	  "[KEY=VALUE]...' is expected" },
	{ "input x float mean=1 scaled", "model.ps:1: 'scaled' is one word too "
	  "many: a line like 'input NAME KIND [KEY=VALUE]...' is expected" },
	{ "\ninput x \"float", "model.ps:2: a \" is not closed" },
	{ "input x int", "model.ps:1: x: 'int' is none of float, id, string, "
	  "sparse" },
	{ "label x sparse[3]", "model.ps:1: x: 'sparse[3]' is none of "
	  "string, binary, id, float" },
	{ "input x binary", "model.ps:1: x: 'binary' is none of float, id, "
	  "string, sparse" },
	{ "input x float[]", "model.ps:1: x: '[]' is not a shape; say float, "
	  "float[3] or float[28,28]" },
	{ "input x sparse", "model.ps:1: x: '' is not a shape; say sparse[N], "
	  "N features, or sparse[hash]" },
	{ "input x id rows=hash\nlabel y float\ne = embedding x dim=2 "
	  "admit=0", "model.ps:3: admit=0 is not a whole number from 1 to "
	  "1048576" },
	{ "input x id rows=hash\nlabel y float\ne = embedding x dim=2 "
	  "evict=age:0", "model.ps:3: evict=age:0 is not age:UPDATES, "
	  "rows:NUMBER or both with a comma between" },
	{ "input x id rows=hash\ny = embedding x dim=2 "
	  "embeddings_initializer=glorot_uniform",
	  "model.ps:2: y: embeddings_initializer=glorot_uniform depends on the "
	  "number of rows, which a hashed table does not have; take "
	  "random_uniform, random_normal or truncated_normal" },
	{ "input x sparse[hash]\ny = linear x kernel_initializer=he_normal",
	  "model.ps:2: y: kernel_initializer=he_normal depends on the number "
	  "of rows, which a hashed table does not have; take random_uniform, "
	  "random_normal or truncated_normal" },
	{ "input x id rows=hash\nlabel y float\ne = category_encoding x",
	  "model.ps:3: e: the ids of x have no upper bound, so they cannot be "
	  "encoded; use linear or embedding" },
	{ "input x id[0] rows=3", "model.ps:1: x: '[0]' is not a shape; say "
	  "nothing for one value, [3] for three, [] for any number" },
	{ "input x id[3x] rows=3", "model.ps:1: x: '[3x]' is not a shape; say "
	  "nothing for one value, [3] for three, [] for any number" },
	{ "input x float[99999999999,99999999999]", "model.ps:1: x: "
	  "'[99999999999,99999999999]' is not a shape; say float, float[3] or "
	  "float[28,28]" },
	{ "input x id bin_boundaries=1,1", "model.ps:1: x: bin_boundaries= "
	  "are numbers, each above the one before" },
	{ "input x id bin_boundaries=", "model.ps:1: x: bin_boundaries= "
	  "are numbers, each above the one before" },
	{ "input x id bin_boundaries=a,b", "model.ps:1: x: bin_boundaries= "
	  "are numbers, each above the one before" },
	{ "input x id bin_boundaries=1,2 rows=3", "model.ps:1: unknown setting "
	  "rows; there are bin_boundaries, columns, sep, pad, from" },
	{ "input x id", "model.ps:1: x: rows= is missing: ids are 0 to rows - "
	  "1, or any with rows=hash" },
	{ "input x float columns=", "model.ps:1: x: columns= names none" },
	{ "input x string vocab=a,b columns=u,v cross=true", "model.ps:1: x: "
	  "cross=true makes one string of several columns=, by hash=N or "
	  "rows=hash" },
	{ "input x string[2] hash=9 columns=u,v cross=true", "model.ps:1: x: "
	  "cross=true makes one string of several columns=, by hash=N or "
	  "rows=hash" },
	{ "input x string hash=9 cross=true", "model.ps:1: x: cross=true makes "
	  "one string of several columns=, by hash=N or rows=hash" },
	{ "input x id rows=9 columns=u,v cross=true", "model.ps:1: unknown "
	  "setting cross; there are bin_boundaries, rows, columns, sep, "
	  "pad, from" },
	{ "input x string", "model.ps:1: x: a string needs one of "
	  "vocab=WORD,WORD..., vocab_file=FILE, hash=N, rows=hash" },
	{ "input x string hash=3 vocab=a", "model.ps:1: x: a string needs one "
	  "of vocab=WORD,WORD..., vocab_file=FILE, hash=N, rows=hash" },
	{ "input x string hash=3 rows=5", "model.ps:1: x: a string needs one "
	  "of vocab=WORD,WORD..., vocab_file=FILE, hash=N, rows=hash" },
	{ "input x string vocab=a,b rows=2", "model.ps:1: x: a string needs "
	  "one of vocab=WORD,WORD..., vocab_file=FILE, hash=N, rows=hash" },
	{ "input x string rows=5", "model.ps:1: x: a string needs one of "
	  "vocab=WORD,WORD..., vocab_file=FILE, hash=N, rows=hash" },
	{ "input x string hash=0", "model.ps:1: hash=0 is not a whole number "
	  "from 1 to 281474976710656" },
	{ "input x float size=3", "model.ps:1: unknown setting size; "
	  "there are zero_based, columns, sep, pad, from" },
	{ "input x float sep=ab", "model.ps:1: sep=ab is not one character" },
	{ "input x/y float", "model.ps:1: 'x/y' is not a name: it takes "
	  "letters, digits, _ - . and at most 63 of them" },
	{ "input x float\ninput x id rows=2",
	  "model.ps:2: x is already defined at model.ps:1" },
	{ "label x binary\ninput x float",
	  "model.ps:2: x is already the label, at model.ps:1" },
	{ "label x binary\nlabel z binary", "model.ps:2: a second label; the "
	  "first is x, at model.ps:1" },
	{ "label x id[2]", "model.ps:1: x: a label is one value, without "
	  "[2]" },
	{ "input x float\ny = dens x", "model.ps:2: unknown layer 'dens'; did "
	  "you mean dense?" },
	{ "input x float\ny = rleu x", "model.ps:2: unknown layer 'rleu'; did "
	  "you mean relu?" },
	{ "input x float\ny = lstm x", "model.ps:2: unknown layer "
	  "'lstm'" },
	{ "y=dense x units=1", "model.ps:1: 'y=dense' begins no statement; "
	  "they are input, label, variable, NAME = LAYER, loss, step, "
	  "metric, optimizer, local, mode; put blanks around the =" },
	{ "y =dense x units=1", "model.ps:1: put blanks around the = of y" },
	{ "input x float\ny = dense x units = 1",
	  "model.ps:2: put no blanks around the = of units" },
	{ "input x float\ny = dense x units =1",
	  "model.ps:2: put no blanks around the = of units" },
	{ "input x float\ny = dense x units= 1",
	  "model.ps:2: put no blanks around the = of units" },
	{ "optimizer sgd momentum=0.9 learning_rate = 1",
	  "model.ps:1: put no blanks around the = of learning_rate" },
	{ "y =", "model.ps:1: a line like 'NAME = LAYER INPUT... "
	  "[KEY=VALUE]...' is expected" },
	{ "y = dense units=1", "model.ps:1: y: dense takes 1 input, not 0" },
	{ "input x float\ny = dense x x units=1",
	  "model.ps:2: y: dense takes 1 input, not 2" },
	{ "input x float\ny = add x", "model.ps:2: y: add takes at least 2 "
	  "inputs, not 1" },
	{ "y = dense x units=1", "model.ps:1: x is not defined above" },
	{ "input x float\ny = dense y units=1",
	  "model.ps:2: y is not defined above" },
	{ "label t float\ny = dense t units=1", "model.ps:2: t is the label, "
	  "which only an external layer may take" },
	{ "input x float\ny = dense x", "model.ps:2: y: units= is missing" },
	{ "input x float\ny = dense x unit=1", "model.ps:2: y: units= is "
	  "missing; unknown setting unit, did you mean units?" },
	{ "input x float\ny = dense x use_bias=true",
	  "model.ps:2: y: units= is missing" },
	{ "input x id rows=3\ny = embedding x dims=2", "model.ps:2: y: dim= "
	  "is missing; unknown setting dims, did you mean dim?" },
	{ "input x float[9,2]\ny = conv1d x filters=2 kernel=3", "model.ps:2: "
	  "y: kernel_size= is missing" },
	{ "input x float\ny = dense x units=1 unit=2",
	  "model.ps:2: unknown setting unit; there are units, use_bias, "
	  "kernel_initializer, kernel_regularizer, bias_initializer, "
	  "bias_regularizer, activation; did you mean units?" },
	{ "input x float\ny = dense x units=1 units=2",
	  "model.ps:2: units is given twice" },
	{ "input x float\ny = dense x units=1 activation=zigmoid",
	  "model.ps:2: unknown activation 'zigmoid'; did you mean sigmoid?" },
	{ "input x float\ny = dense x units=1 activation=densely",
	  "model.ps:2: unknown activation 'densely'" },
	{ "input x float\ny = dense x units=1 activation=dense",
	  "model.ps:2: unknown activation 'dense'" },
	{ "input x float\ny = dense x units=1 kernel_regularizer=l3:1",
	  "model.ps:2: kernel_regularizer=l3:1 is not l1:NUMBER, l2:NUMBER or "
	  "l1_l2:NUMBER:NUMBER" },
	{ "input x sparse[3]\ny = dense x units=1", "model.ps:2: y: dense "
	  "takes floats, but x holds ids; put an embedding between" },
	{ "input x float[3]\ny = embedding x dim=2", "model.ps:2: y: "
	  "embedding takes ids (an input of kind id, string or sparse), but x "
	  "holds floats" },
	{ "input x sparse[3]\ny = embedding x", "model.ps:2: y: x has a "
	  "different number of ids in each example; say combiner=sum, mean "
	  "or sqrtn" },
	{ "input x id rows=3\ny = embedding x", "model.ps:2: y: dim= is "
	  "missing" },
	{ "input x id rows=3\ny = embedding x dim=2 combiner=max",
	  "model.ps:2: y: combiner=max is none of none, sum, mean, sqrtn" },
	{ "input x float[2]\ninput z float[3]\ny = add x z", "model.ps:3: y: "
	  "add takes inputs of one shape, but x is [2] and z is [3]" },
	{ "input x float[2,3]\ninput z float[3,2]\ny = concat x z",
	  "model.ps:3: y: concat takes shapes that differ only along axis 2, "
	  "but x is [2, 3] and z is [3, 2]" },
	{ "input x float[2]\ninput z float[3]\ny = dot x z", "model.ps:3: y: "
	  "dot takes [d] and [d], or [k, d] and [m, d], but x is [2] and z is "
	  "[3]" },
	{ "input x float[2]\ninput z id[] rows=9\ny = attention x z dim=2",
	  "model.ps:3: y: attention takes ids (an input of kind id, string or "
	  "sparse), and then floats, the query" },
	{ "input x float[2]\ninput z id[] rows=9\ny = attention z x dim=3",
	  "model.ps:3: y: attention takes a query as long as its rows, [3], "
	  "but x is [2]" },
	{ "input x float[2]\ninput z id[] rows=9\ny = attention z x",
	  "model.ps:3: y: dim= is missing" },
	{ "input x float[2]\ninput z id[] rows=9\ny = attention z x share=x",
	  "model.ps:3: y: share=x: that is not an embedding above" },
	{ "input x float[2,3]\ny = reduce_mean x axis=3", "model.ps:2: y: "
	  "axis=3 is none of x, which is [2, 3]: its axes are 1 to 2, or -1 "
	  "from the last (0 is the batch)" },
	{ "input x float[6]\ny = conv1d x filters=2 kernel_size=2",
	  "model.ps:2: y: conv1d takes [steps, channels], but x is [6]" },
	{ "input x float[6,2]\ny = conv1d x filters=2",
	  "model.ps:2: y: kernel_size= is missing" },
	{ "input x float[6,2]\ny = conv1d x kernel_size=2",
	  "model.ps:2: y: filters= is missing" },
	{ "input x float[6,2]\ny = conv1d x filters=2 kernel_size=7",
	  "model.ps:2: y: kernel_size=7 is more than the 6 steps of x; "
	  "padding=same would do" },
	{ "input x float[6,2]\ny = conv1d x filters=2 kernel_size=2 "
	  "padding=full", "model.ps:2: y: padding=full is not valid, same or "
	  "causal" },
	{ "input x float[9999,99]\ny = conv1d x filters=2 kernel_size=9999 "
	  "padding=same", "model.ps:2: y: its windows are too large for one "
	  "example; the limit is 67108864 numbers" },
	{ "input x float[6]\ny = reshape x target_shape=[4,2]",
	  "model.ps:2: y: x is [6], which does not fill [4, 2]" },
	{ "input x float[2]\ny = normalization x mean=0,1,2 variance=1",
	  "model.ps:2: y: normalization needs mean=, one number or 2, as the "
	  "last axis of x has" },
	{ "input x float[2]\ny = normalization x mean=0 variance=1,-4",
	  "model.ps:2: y: variance=1,-4: each must be 0 or more" },
	{ "input x float\ny = dropout x", "model.ps:2: y: rate= is missing" },
	{ "input x float\nx2 = dense x units=1\nloss hinge x2",
	  "model.ps:3: a loss needs a label line" },
	{ "label t binary\nloss hinge z",
	  "model.ps:2: z is not the name of a layer" },
	{ "label t binary\ninput x float\nloss hing x",
	  "model.ps:3: unknown loss 'hing', there are: binary_crossentropy "
	  "sparse_categorical_crossentropy mean_squared_error "
	  "mean_absolute_error hinge huber log_cosh poisson; did you mean "
	  "hinge?" },
	{ "label t binary\ninput x float\nloss hinge x\nloss hinge x",
	  "model.ps:4: a second loss" },
	{ "label t binary\ninput x float[2]\nloss hinge x", "model.ps:3: "
	  "hinge takes [1], a single number, but x is [2]" },
	{ "label t id\ninput x float\nloss sparse_categorical_crossentropy x",
	  "model.ps:3: sparse_categorical_crossentropy takes [n], one number "
	  "for each of n classes, but x is [1]" },
	{ "label t float\ninput x float\nloss binary_crossentropy x",
	  "model.ps:3: binary_crossentropy takes a label of kind binary, id "
	  "or string, but t (model.ps:1) is a float" },
	{ "label t string vocab=a,b,c\ninput x float\nloss hinge x",
	  "model.ps:3: t (model.ps:1) can be any of 3, but x tells 2 apart" },
	{ "label t id\ninput x float\nloss mean_squared_error x",
	  "model.ps:3: mean_squared_error takes a label of kind float, but t "
	  "(model.ps:1) is none" },
	{ "input x float\ny = sigmoid x\n" END, "model.ps:4: y ends in a "
	  "sigmoid, so it holds no logits; leave out from_logits" },
	{ "input x float\ny = dense x units=1\n" END "metric accuracy x2",
	  "model.ps:5: x2 is not the name of a layer with as many numbers as "
	  "y" },
	{ "input x float[9]\nlabel t id\n"
	  "loss sparse_categorical_crossentropy x\nmetric auc",
	  "model.ps:4: auc is a measure of two classes, but x has 9" },
	{ OF_NUMBERS "metric sparse_top_k_categorical_accuracy",
	  "model.ps:4: sparse_top_k_categorical_accuracy takes a label of "
	  "kind binary, but t (model.ps:2) is a float" },
	{ "input x float[3]\nlabel y binary\np = dense x units=1\n"
	  "loss hinge p\nmetric sparse_top_k_categorical_accuracy",
	  "model.ps:5: sparse_top_k_categorical_accuracy is a measure of "
	  "several classes, but p has one number" },
	{ "input x float[3]\nlabel y id\n"
	  "loss sparse_categorical_crossentropy x\n"
	  "metric sparse_top_k_categorical_accuracy k=0",
	  "model.ps:4: k=0 is not a whole number from 1 to 4294967295" },
	{ "input x float[3]\nlabel y id\n"
	  "loss sparse_categorical_crossentropy x\nmetric accuracy k=2",
	  "model.ps:4: unknown setting k; there are weighted, threshold" },
	{ "input x float\nlabel t binary\nloss hinge x\nmetric auc\n"
	  "metric accuracy\nmetric auc x", "model.ps:6: a second metric auc; "
	  "results tell them apart by name" },
	{ OF_NUMBERS "metric accuracy", "model.ps:4: accuracy takes a label "
	  "of kind binary, but t (model.ps:2) is a float" },
	{ OF_NUMBERS "metric auc", "model.ps:4: auc takes a label of kind "
	  "binary, but t (model.ps:2) is a float" },
	{ OF_NUMBERS "metric log_loss", "model.ps:4: log_loss takes a label "
	  "of kind binary, but t (model.ps:2) is a float" },
	{ OF_NUMBERS "metric precision", "model.ps:4: precision takes a label "
	  "of kind binary, but t (model.ps:2) is a float" },
	{ OF_NUMBERS "metric recall", "model.ps:4: recall takes a label of "
	  "kind binary, but t (model.ps:2) is a float" },
	{ "input x float\ny = dense x units=1\n" END
	  "optimizer sgd\noptimizer adam", "model.ps:6: a second optimizer "
	  "without for=" },
	{ "input x float\ny = dense x units=1\n" END
	  "optimizer sgd for=z/*", "model.ps:5: for=z/* matches no "
	  "variable" },
	{ "input x float\ny = dense x units=1\n" END
	  "optimizer sgd for=y/*\noptimizer adam for=y/bias",
	  "model.ps:6: for=y/bias matches no variable but those that patterns "
	  "above it match" },
	{ "input x float\ny = dense x units=1\n" END
	  "mode async for=y/*\nmode sync for=y/bias",
	  "model.ps:6: for=y/bias matches no variable but those that patterns "
	  "above it match" },
	{ "input x float\ny = batch_normalization x\n" END
	  "optimizer sgd for=y/moving_*", "model.ps:5: for=y/moving_* matches "
	  "no variable" },
	{ "input x float\ny = batch_normalization x "
	  "moving_mean_regularizer=l2:1\n" END, "model.ps:2: y: moving_mean is "
	  "not trained, and takes no regularizer" },
	{ "input x float\ny = batch_normalization x momentum=1.5\n" END,
	  "model.ps:2: momentum=1.5 is not a number from 0 to 1" },
	{ "input x float\ny = dense x units=1\n" END "optimizer sgd rho=1",
	  "model.ps:5: unknown setting rho; there are for, schedule, "
	  "learning_rate, initial_learning_rate, weight_decay, clipvalue, "
	  "clipnorm, global_clipnorm, momentum, nesterov" },
	{ "variable v 3,x", "model.ps:1: v: '3,x' is not a shape, like "
	  "[7,20]" },
	{ "input x float[60000000]\ny = concat x x", "model.ps:2: y: "
	  "[120000000] is too large for one example; the limit is 67108864 "
	  "numbers" },
	{ "input x id rows=3\ny = embedding x share=z",
	  "model.ps:2: y: share=z: that is not an embedding above" },
	{ "input x id rows=3\ny = embedding x share=y",
	  "model.ps:2: y: share=y: that is not an embedding above" },
	{ "input x id rows=3\nz = linear x\ny = embedding x share=z",
	  "model.ps:3: y: share=z: that is not an embedding above" },
	{ "input x id rows=3\ninput u id rows=4\nz = embedding x dim=2\n"
	  "y = embedding u share=z",
	  "model.ps:4: y: share=z: u has not as many rows as x" },
	{ "input x string vocab=a,b\ninput u string vocab=b,a\n"
	  "z = embedding x dim=2\ny = embedding u share=z",
	  "model.ps:4: y: share=z: the words of u have other ids than those "
	  "of x" },
	{ "input x id rows=3\nz = embedding x dim=2\n"
	  "y = embedding x share=z dim=2", "model.ps:3: unknown setting dim; "
	  "there are combiner, share" },
	{ "label t binary\ninput x float\nloss hinge x class_weight=1",
	  "model.ps:3: class_weight=1: it takes 2 numbers from 0 on, one for "
	  "each class" },
	{ "label t binary\ninput x float\nloss hinge x class_weight=1,-1",
	  "model.ps:3: class_weight=1,-1: it takes 2 numbers from 0 on, one "
	  "for each class" },
	{ "label t binary\ninput x float\nloss hinge x class_weight=1,b",
	  "model.ps:3: class_weight=1,b: it takes 2 numbers from 0 on, one "
	  "for each class" },
	{ "label t float\ninput x float\nloss huber x class_weight=1,2",
	  "model.ps:3: class_weight: t (model.ps:1) is a float, and has no "
	  "classes" },
	{ "label t binary\ninput x float[2]\ny = dense x units=1\n"
	  "loss hinge y sample_weight=x", "model.ps:4: sample_weight=x: that "
	  "is not an input of a single float" },
	{ "label t binary\ninput x float\nloss hinge x sample_weight=t",
	  "model.ps:3: sample_weight=t: that is not an input of a single "
	  "float" },
	{ "label t binary\ninput x float\nloss hinge x\n"
	  "metric accuracy weighted=true", "model.ps:4: weighted: the loss "
	  "has neither sample_weight nor class_weight" },
	{ "label t binary\ninput x float\nloss hinge x class_weight=1,2\n"
	  "metric auc weighted=true", "model.ps:4: weighted: auc counts all "
	  "examples alike" },
	{ "input x id rows=200000000000000\ny = embedding x dim=1000",
	  "model.ps:2: y/embeddings: a variable of [200000000000000, 1000] is "
	  "too large" },
};

static struct model *
parse(const char *text, struct fail *f)
{
	char name[] = "model.ps", *copy = mem_text(text);
	struct model_file file = { name, copy, strlen(text) };
	struct model *m = model_parse(&(struct model_source){
		.file = &file, .count = 1 }, f);

	free(copy);
	return m;
}

static void
test_mistakes(void)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		struct fail f = { 0 };
		struct model *m = parse(mistakes[i].text, &f);
		const bool good = !m && f.kind == FAIL_CONFIG &&
				  strcmp(f.text, mistakes[i].message) == 0;

		if (!good)
			tap_differ(m ? "no error" : f.text,
				   mistakes[i].message);
		named_for(good, "a wrong model is refused with: %s",
			  mistakes[i].message);
		model_free(m);
	}
}

static void
test_variables(void)
{
	static const char *const names[] = {
		"wide/kernel", "wide/bias", "e/embeddings", "d/kernel",
		"d/bias", "n/gamma", "n/beta", "free"
	};
	struct fail f;
	struct model *m = parse(
		"input s sparse[99] columns=a,b* sep=\" \"  # a comment\r\n"
		"input \"w\" string vocab=\"iron man,hulk\" mask_token=none "
		"num_oov_indices=1\n"
		"optimizer ftrl for=wide/*\noptimizer sgd for=*/bias\n"
		"optimizer adam\n"
		"wide = linear s\ne = embedding w dim=4\n"
		"d = dense e units=4 activation=relu\n"
		"n = layer_normalization d\ny = reduce_sum n\n"
		"logit = add y wide\n"
		"variable free [2,3] initializer=zeros where=servers\n"
		"label t string vocab=no,yes\n"
		"loss binary_crossentropy logit from_logits=true\n"
		"metric auc\nmetric accuracy logit threshold=0.3\n", &f);
	size_t n;

	ok(m);
	if (!m) {
		printf("# %s\n", f.text);
		return;
	}

	const struct variable *v = model_variables(m, &n);

	equals(n, 8);
	for (size_t i = 0; i < n && i < 8; i++)
		equals(v[i].name, names[i]);
	ok(v[0].table && v[2].table && !v[1].table && !v[3].table);
	ok(v[0].shape.dim[0] == 99 && v[0].shape.dim[1] == 1);
	ok(v[2].shape.dim[0] == 4 && v[2].shape.dim[1] == 4);
	ok(v[7].shape.rank == 2 && v[7].shape.dim[1] == 3);
	ok(strcmp(optimizer_name(v[0].optimizer), "ftrl") == 0 &&
	   strcmp(optimizer_name(v[1].optimizer), "ftrl") == 0 &&
	   strcmp(optimizer_name(v[4].optimizer), "sgd") == 0 &&
	   strcmp(optimizer_name(v[3].optimizer), "adam") == 0);

	const struct input *in = model_inputs(m, &n);

	ok(n == 2 && in[0].kind == INPUT_SPARSE && in[0].rows == 99 &&
	   in[0].column_count == 2 && strcmp(in[0].columns[1], "b*") == 0 &&
	   in[0].separator == ' ' && strcmp(in[0].where, "model.ps:1") == 0);
	ok(strcmp(in[1].name, "w") == 0 && in[1].rows == 4 &&
	   strcmp(lookup_word(in[1].lookup, 2), "iron man") == 0);
	ok(model_label(m)->rows == 2 && model_outputs(m) == 1);

	const struct metric *metric = model_metrics(m, &n);

	ok(n == 2 && metric[0].threshold == .5f &&
	   metric[1].threshold == .3f);
	model_free(m);
}

/* The ids of an input are gathered once for any number of layers. */
static void
test_lookups(void)
{
	struct fail f;
	struct model *m = parse("input a id[3] rows=9\ninput b id rows=9\n"
				"input c id[] rows=9\n"
				"u = embedding a dim=2 combiner=sum\n"
				"v = embedding b share=u\n"
				"w = embedding a share=v combiner=mean\n"
				"x = embedding b dim=2\n"
				"z = embedding c share=x combiner=sum\n"
				"p = dense w units=1\nlabel y float\n"
				"loss mean_squared_error p\n", &f);
	size_t n;
	const struct variable *v;

	ok(m);
	if (!m)
		return;
	v = model_variables(m, &n);
	ok(v[0].lookups == 4 && v[1].lookups == 0);
	model_free(m);
}

static void
test_defaults(void)
{
	struct fail f;
	struct model *m = parse("input x float\ny = dense x units=3\n"
				"label t id\nmetric accuracy\n"
				"loss sparse_categorical_crossentropy y "
				"from_logits=true\n", &f);
	size_t n;

	ok(m && model_label(m)->rows == 3 && model_outputs(m) == 3);
	ok(strcmp(optimizer_name(model_variables(m, &n)->optimizer),
		  "rmsprop") == 0);
	model_free(m);
	m = parse("input x float\nlabel t binary\nloss hinge x\n"
		  "metric accuracy\n", &f);
	ok(m && model_metrics(m, &n)->threshold == 0);
	model_free(m);
}

/* Metrics of errors take any number, and numbers of 0 or 1 have classes,
   too. */
static void
test_metrics(void)
{
	struct fail f;
	struct model *m = parse(OF_NUMBERS "metric mean_squared_error\n"
				"metric mean_absolute_error\n", &f);

	ok(m);
	model_free(m);
	m = parse("input x float\nlabel t binary\n"
		  "loss mean_squared_error x\nmetric auc\nmetric accuracy\n"
		  "metric mean_squared_error\n", &f);
	ok(m);
	model_free(m);
}

/* Is the first input the sample_weight, and not used otherwise? */
static bool
weighs(const char *text)
{
	struct fail f;
	struct model *m = parse(text, &f);
	size_t n;
	const bool is = m && model_inputs(m, &n)[0].weighs;

	ok(m);
	model_free(m);
	return is;
}

static void
test_weights(void)
{
	ok(weighs("input w float\ninput x float\nlabel t binary\n"
		  "loss hinge x sample_weight=w\n"
		  "metric accuracy weighted=true\n"));
	ok(!weighs("input w float\ninput x float\nlabel t binary\n"
		   "y = add w x\nloss hinge y sample_weight=w\n"));
	ok(!weighs("input w float\nlabel t binary\n"
		   "loss hinge w sample_weight=w\n"));
	ok(!weighs("input w float\nlabel t binary\n"
		   "loss hinge w class_weight=1,2\n"));
}

/* Each name that the loss does not use is reported, with its line. */
static void
test_unused(void)
{
	struct text lines = { 0 };
	struct fail f;
	struct model *m = parse("input x float\ninput age float\n"
				"side = dense x units=2 activation=relu\n"
				"more = relu side\n"
				"y = dense x units=1 activation=sigmoid\n"
				"seen = dense x units=1\nlabel t binary\n"
				"input w float\n"
				"loss binary_crossentropy y sample_weight=w\n"
				"metric accuracy seen\n"
				"variable free [3]\n", &f);

	ok(m);
	model_unused(m, &lines);
	ok(lines.data && strcmp(lines.data,
	   "model.ps:2: age leads to neither the loss nor a metric; it can be "
	   "left out\n"
	   "model.ps:3: side leads to neither the loss nor a metric; it can "
	   "be left out\n"
	   "model.ps:4: more leads to neither the loss nor a metric; it can "
	   "be left out\n") == 0);
	model_free(m);
	text_reset(&lines);
	m = parse("input x float\ny = dense x units=1\n" END, &f);
	ok(m);
	model_unused(m, &lines);
	equals(lines.size, 0);
	model_free(m);
	text_release(&lines);
}

static void
put(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
}

/* Is a vocabulary of this name accepted?  anywhere: also outside of the model's
   folder. */
static bool
names(const char *folder, const char *name, bool anywhere)
{
	char path[100], text[400];
	struct model_source s;
	struct fail f;
	int got;

	snprintf(text, sizeof(text), "input w string vocab_file=%s\n", name);
	put(folder, "m.ps", text);
	snprintf(path, sizeof(path), "%s/m.ps", folder);
	got = model_source_read(&s, path, NULL, anywhere, &f);
	if (got == 0)
		model_source_release(&s);
	else if (f.kind != FAIL_DENIED ||
		 !strstr(f.text, "m.ps:1: vocab_file="))
		printf("# %s\n", f.text);
	return got == 0;
}

static void
test_folder(const char *folder)
{
	char below[100], link[100], out[100], beside[100], file[200];
	const char *base = strrchr(folder, '/') + 1;

	snprintf(below, sizeof(below), "%s/below", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	snprintf(out, sizeof(out), "%s/out", folder);
	snprintf(file, sizeof(file), "%s/words.txt", folder);
	mkdir(below, 0700);
	ok(symlink("words.txt", link) == 0 && symlink("/etc", out) == 0);
	ok(names(folder, "words.txt", false) && names(folder, file, false) &&
	   names(folder, "link", false) &&
	   names(folder, "below/../words.txt", false));
	ok(!names(folder, "/etc/passwd", false) &&
	   names(folder, "/etc/passwd", true));
	ok(!names(folder, "../../etc/passwd", false) &&
	   names(folder, "../../etc/passwd", true));
	ok(!names(folder, "out/passwd", false) &&
	   names(folder, "out/passwd", true));
	unlink(link);
	ok(symlink("/etc/passwd", link) == 0 && !names(folder, "link", false));
	/* A folder whose name begins with that of the model's folder is another
	   one. */
	snprintf(beside, sizeof(beside), "%s.d", folder);
	mkdir(beside, 0700);
	put(beside, "words.txt", "a\n");
	snprintf(file, sizeof(file), "../%s.d/words.txt", base);
	ok(!names(folder, file, false) && names(folder, file, true));
	snprintf(file, sizeof(file), "%s/words.txt", beside);
	unlink(file);
	rmdir(beside);
	unlink(link);
	unlink(out);
	rmdir(below);
}

/* The files that a model names are sent with it, and are part of its hash. */
static void
test_source(void)
{
	static const char text[] =
		"input w string vocab_file=words.txt\n"
		"input z string vocab_file=words.txt\n"
		"y = linear w\n" END;
	char folder[] = "/tmp/pskit-model.XXXXXX", path[64];
	char hash[33], other[33];
	struct model_source s;
	struct fail f;
	size_t n;

	ok(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/m.ps", folder);
	ok(model_source_read(&s, path, NULL, false, &f) == -1 &&
	   f.kind == FAIL_NOINPUT);
	put(folder, "m.ps", text);
	ok(model_source_read(&s, path, NULL, false, &f) == -1 &&
	   f.kind == FAIL_NOINPUT && strstr(f.text, "m.ps:1: cannot open ") &&
	   strstr(f.text, "words.txt: No such file"));
	put(folder, "words.txt", "iron man\r\nhulk\n");
	ok(model_source_read(&s, path, NULL, false, &f) == 0 && s.count == 2 &&
	   strcmp(s.file[0].text, text) == 0 &&
	   s.file[0].size == strlen(text) &&
	   strcmp(s.file[1].name, "words.txt") == 0);
	model_source_hash(&s, hash);
	equals(strlen(hash), 32);

	struct model *m = model_parse(&s, &f);

	ok(m && model_inputs(m, &n)->rows == 2 &&
	   lookup_find(model_inputs(m, &n)->lookup, "iron man", 8) == 0);
	model_free(m);
	s.file[0].name[0] = 'x';
	model_source_hash(&s, other);
	equals(hash, other);
	s.file[1].text[0] = 'I';
	model_source_hash(&s, other);
	ok(strcmp(hash, other) != 0);
	s.count = 1;
	ok(!model_parse(&s, &f) &&
	   strstr(f.text, ": the file words.txt did not come with the model"));
	s.count = 2;
	model_source_release(&s);

	/* A byte order mark is not a part of a text. */
	put(folder, "m.ps", "\xef\xbb\xbf" "input w string "
	    "vocab_file=words.txt\ny = linear w\n" END);
	put(folder, "words.txt", "\xef\xbb\xbf" "hulk\n\xef\xbb\xbf\n");
	ok(model_source_read(&s, path, NULL, false, &f) == 0 &&
	   s.file[1].size == 9 &&
	   strcmp(s.file[1].text, "hulk\n\xef\xbb\xbf\n") == 0);
	m = model_parse(&s, &f);
	ok(m && model_inputs(m, &n)->rows == 2 &&
	   lookup_find(model_inputs(m, &n)->lookup, "hulk", 4) == 0);
	model_free(m);
	model_source_release(&s);

	test_folder(folder);
	put(folder, "m.ps", text);
	put(folder, "words.txt", "hulk\nhulk\n");
	ok(model_source_read(&s, path, NULL, false, &f) == 0 &&
	   !model_parse(&s, &f) && strstr(f.text, "m.ps:1: words.txt: ") &&
	   strstr(f.text, "hulk"));
	model_source_release(&s);
	unlink(path);
	snprintf(path, sizeof(path), "%s/words.txt", folder);
	unlink(path);
	rmdir(folder);
}

/* The examples in the manual are valid models. */
static void
test_manual(void)
{
	char path[4096], line[512];
	struct text model = { 0 };
	const char *src = getenv("SRC");
	bool inside = false;
	size_t models = 0;
	FILE *page;

	snprintf(path, sizeof(path), "%s/man/ps-model.5", src ? src : ".");
	page = fopen(path, "r");
	ok(page);
	while (page && fgets(line, sizeof(line), page)) {
		/* Displays that are not models have another offset. */
		if (strcmp(line, ".Bd -literal -offset indent\n") == 0) {
			inside = true;
			text_reset(&model);
		} else if (inside && strncmp(line, ".Ed", 3) == 0) {
			struct fail f = { 0 };
			struct model *m = parse(model.data, &f);

			inside = false;
			models++;
			ok(m);
			if (!m)
				printf("# %s\n%s\n", f.text, model.data);
			model_free(m);
		} else if (inside) {
			text_add(&model, "%s", line);
		}
	}
	equals(models, 12);
	if (page)
		fclose(page);
	text_release(&model);
}

int
main(void)
{
	test_mistakes();
	test_manual();
	test_variables();
	test_lookups();
	test_defaults();
	test_metrics();
	test_weights();
	test_unused();
	test_source();
	return tap_done();
}
