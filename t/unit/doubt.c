/* A model that cannot learn is refused, or a warning is printed, before the
   run. */
#include "base/text.h"
#include "model/model.h"

#include "tap.h"

#include <stdio.h>
#include <string.h>

#define BINARY	"input x float[3]\nlabel y binary\n"
#define CLASSES	"input x float[3]\nlabel y id\n"
#define NUMBER	"input x float[3]\nlabel y float\n"
#define PAIR	"input u id rows=3\ninput v id rows=3\nlabel y float\n"
#define DENSE	"p = dense x units=1"
#define BCE	"\nloss binary_crossentropy p"
#define SCCE	"\nloss sparse_categorical_crossentropy p"
#define LOGITS	" from_logits=true"
#define STAY	"these variables are 0 and stay 0, because both factors of " \
		"a product, or the input of a relu, are 0 at the start: "
#define BEYOND	", which is not a probability, and has no gradient beyond 0 " \
		"and 1; "

/* Models and their warning; NULL: none.  "!" marks a refusal. */
static const struct {
	const char *text, *said;
} models[] = {
	/* Cross-entropy of two classes. */
	{ BINARY DENSE BCE, "!model.ps:4: p does not end in a sigmoid, so it "
	  "is not a probability, and what it gives beyond 0 and 1 has no "
	  "gradient; say from_logits=true, or activation=sigmoid" },
	{ BINARY "p = linear x" BCE, "!model.ps:4: p does not end" },
	{ BINARY "a = linear x activation=sigmoid\nb = linear x\np = add a b"
	  BCE, "!model.ps:6: p does not end" },
	{ BINARY "a = linear x\np = flatten a" BCE, "!model.ps:5: p does not" },
	{ BINARY DENSE " activation=leaky_relu" BCE, "!model.ps:4: p does" },
	{ BINARY DENSE BCE LOGITS, NULL },
	{ BINARY DENSE " activation=sigmoid" BCE, NULL },
	{ BINARY DENSE " activation=hard_sigmoid" BCE, NULL },
	{ BINARY "a = linear x activation=sigmoid\n"
	  "b = linear x activation=sigmoid\np = average a b" BCE, NULL },
	{ BINARY "a = linear x activation=sigmoid\n"
	  "b = linear x activation=sigmoid\np = multiply a b" BCE, NULL },
	{ BINARY "a = dense x units=2 activation=softmax\n"
	  "p = reduce_max a" BCE, NULL },
	{ BINARY "p = external x shape=[1]" BCE, NULL },
	{ "input p float\nlabel y binary" BCE, "no step changes a variable: "
	  "the model has none" },
	{ BINARY "a = linear x\np = rescaling a scale=0.5 offset=0.5" BCE,
	  NULL },
	{ BINARY DENSE " activation=relu" BCE, "model.ps:4: p gives 0 or more"
	  BEYOND "sigmoid is, or from_logits=true makes one of it" },
	{ BINARY DENSE " activation=tanh" BCE, "model.ps:4: p gives from -1 "
	  "to 1" BEYOND },
	{ BINARY DENSE " activation=softplus" BCE, "model.ps:4: p gives 0 or "
	  "more" BEYOND },
	{ BINARY "a = linear x activation=sigmoid\n"
	  "b = linear x activation=sigmoid\np = add a b" BCE,
	  "model.ps:6: p gives from 0 to 2" BEYOND },
	{ BINARY DENSE " activation=softmax" BCE, "!model.ps:3: p: a softmax "
	  "of one number is always 1; take sigmoid" },
	{ BINARY DENSE " activation=softmax" BCE LOGITS, "!model.ps:3: p: a "
	  "softmax of one number" },
	{ BINARY "a = dense x units=1 activation=softmax\np = dense a units=1"
	  BCE LOGITS, "model.ps:3: a: a softmax of one number is always 1, "
	  "and nothing before it is trained" },
	{ BINARY DENSE " activation=relu" BCE LOGITS, "model.ps:4: p gives 0 "
	  "or more, so as the input of a sigmoid it cannot give every "
	  "probability" },
	{ BINARY DENSE " activation=tanh" BCE LOGITS, "model.ps:4: p gives "
	  "from -1 to 1, so as" },

	{ BINARY "a = dense x units=1\np = layer_normalization a" BCE LOGITS,
	  "!model.ps:4: p: one number less its own mean is always 0" },
	{ BINARY "a = dense x units=1\nb = layer_normalization a\nc = linear x"
	  "\np = add b c" BCE LOGITS, "model.ps:4: b: one number less its own "
	  "mean is always 0, and nothing before it is trained" },
	{ BINARY "p = layer_normalization x\nq = reduce_mean p\n"
	  "loss hinge q", NULL },
	{ BINARY "a = linear x\nb = linear x kernel_initializer=ones\n"
	  "p = dot a b normalize=true\nloss hinge p", "!model.ps:5: p: of "
	  "single numbers the cosine is always 1 or -1" },
	{ BINARY "a = linear x\nb = linear x kernel_initializer=ones\n"
	  "p = dot a b\nloss hinge p", NULL },

	/* Layers that are constant, or whose range the layer before them
	   bounds. */
	{ NUMBER "a = dense x units=1\np = rescaling a scale=0 offset=2\n"
	  "loss huber p", "!model.ps:4: p: with scale=0 all numbers are the "
	  "offset" },
	{ NUMBER "a = rescaling x scale=0\np = dense a units=1\nloss huber p",
	  "model.ps:3: a: with scale=0 all numbers are the offset, and nothing "
	  "before it is trained" },
	{ NUMBER "a = dense x units=2\nb = subtract a a\np = dense b units=1"
	  "\nloss huber p", "model.ps:4: b: a layer less itself is always 0" },
	{ NUMBER "a = dense x units=2\nb = dense x units=2\nc = subtract a b\n"
	  "p = dense c units=1\nloss huber p", NULL },
	{ NUMBER "a = dense x units=2\np = dot a a normalize=true\n"
	  "loss huber p", "!model.ps:4: p: the cosine of a layer and itself is "
	  "always 1" },
	{ NUMBER "a = dense x units=2\np = dot a a\nloss huber p", NULL },
	{ PAIR "f = factorization u factors=2\nw = linear v\np = add w f\n"
	  "loss huber p", "model.ps:4: f: a single id has no pairs, so it is "
	  "always 0, and nothing of it is trained" },
	{ PAIR "p = factorization u factors=2\nloss huber p", "!model.ps:4: p: "
	  "a single id has no pairs" },
	{ "input u id[2] rows=3\nlabel y float\np = factorization u factors=2"
	  "\nloss huber p", NULL },
	{ PAIR "q = embedding v dim=2\na = attention u q dim=2\n"
	  "p = dense a units=1\nloss huber p", "model.ps:5: a: the weight of a "
	  "single id is always 1, and nothing is trained by the query q" },
	{ "input u id[] rows=3\ninput v id rows=3\nlabel y float\n"
	  "q = embedding v dim=2\na = attention u q dim=2\n"
	  "p = dense a units=1\nloss huber p", NULL },
	{ "input x float\nlabel y float\np = relu x\nloss huber p",
	  "no step changes a variable: the model has none" },
	{ BINARY "a = linear x activation=sigmoid\n"
	  "p = rescaling a scale=2 offset=-1" BCE, "model.ps:5: p gives from "
	  "-1 to 1" BEYOND },
	{ BINARY "a = dense x units=2 activation=sigmoid\np = reduce_sum a"
	  BCE, "model.ps:5: p gives from 0 to 2" BEYOND },
	{ BINARY "a = dense x units=2\np = reduce_sum a" BCE,
	  "!model.ps:5: p does not end in a sigmoid" },
	{ BINARY "a = linear x activation=tanh\np = rescaling a scale=9" BCE
	  LOGITS, "model.ps:5: p gives from -9 to 9, so as" },

	/* Cross-entropy of several classes. */
	{ CLASSES "p = dense x units=4" SCCE, "!model.ps:4: p does not end in "
	  "a softmax, so it is not a probability" },
	{ CLASSES "p = dense x units=4" SCCE LOGITS, NULL },
	{ CLASSES "p = dense x units=4 activation=softmax" SCCE, NULL },
	{ CLASSES "p = dense x units=4 activation=sigmoid" SCCE, "model.ps:4: "
	  "p ends in a sigmoid, which gives each class a probability of its "
	  "own; with softmax they add up to 1" },
	{ CLASSES "p = dense x units=4 activation=relu" SCCE, "model.ps:4: p "
	  "gives 0 or more" BEYOND "softmax is" },
	{ CLASSES "p = dense x units=4 activation=relu" SCCE LOGITS, NULL },
	{ CLASSES "p = dense x units=4 activation=sigmoid" SCCE LOGITS,
	  "model.ps:4: p gives from 0 to 1, so as the input of a softmax" },
	{ "input x float\nlabel y id rows=3\np = dense x units=4" SCCE LOGITS,
	  "model.ps:4: p tells 4 classes apart, but y has 3" },
	{ "input x float\nlabel y binary\np = dense x units=4" SCCE LOGITS,
	  "model.ps:4: p tells 4 classes apart, but y has 2" },

	/* Other losses. */
	{ BINARY DENSE "\nloss hinge p", NULL },
	{ BINARY DENSE " activation=tanh\nloss hinge p", NULL },
	{ BINARY DENSE " activation=sigmoid\nloss hinge p", "model.ps:4: p "
	  "gives from 0 to 1, but hinge wants numbers below -1 for one class "
	  "and above 1 for the other; without an activation it can give both" },
	{ BINARY DENSE " activation=relu\nloss hinge p", "model.ps:4: p gives "
	  "0 or more, but hinge" },
	{ NUMBER DENSE "\nloss poisson p", "model.ps:4: p gives anything, and "
	  "below 0 poisson has no value; activation=softplus or exponential "
	  "is above 0" },
	{ NUMBER DENSE " activation=tanh\nloss poisson p", "model.ps:4: p "
	  "gives from -1 to 1, and below 0" },
	{ NUMBER DENSE " activation=exponential\nloss poisson p", NULL },
	{ NUMBER DENSE " activation=softmax\nloss mean_absolute_error p",
	  "!model.ps:3: p: a softmax of one number" },
	{ NUMBER DENSE "\nloss huber p", NULL },
	{ NUMBER DENSE " activation=relu\nloss log_cosh p", NULL },
	{ BINARY DENSE " activation=sigmoid\nloss mean_squared_error p", NULL },

	/* Weights, metrics, rates. */
	{ BINARY DENSE BCE LOGITS " class_weight=0,0", "!model.ps:4: "
	  "class_weight: no class counts anything" },
	{ BINARY DENSE BCE LOGITS " class_weight=0,2", "model.ps:4: "
	  "class_weight: examples of one class alone count" },
	{ BINARY DENSE "\nloss hinge p\nmetric log_loss", "metric log_loss: p "
	  "is not a probability" },
	{ BINARY DENSE "\nloss mean_squared_error p\nmetric calibration",
	  "metric calibration: p is not a probability" },
	{ BINARY DENSE BCE LOGITS "\nmetric log_loss\nmetric calibration",
	  NULL },
	{ BINARY DENSE BCE LOGITS "\nmetric accuracy threshold=0", "metric "
	  "accuracy: all predictions are on one side of threshold=0, because p "
	  "gives from 0 to 1" },
	{ BINARY DENSE BCE LOGITS "\nmetric recall threshold=1", "metric "
	  "recall: all predictions are on one side of threshold=1" },
	{ BINARY DENSE BCE LOGITS "\nmetric f1_score threshold=0.9", NULL },
	{ BINARY DENSE "\nloss hinge p\nmetric precision", NULL },
	{ BINARY DENSE " activation=relu\nloss mean_squared_error p\nmetric "
	  "accuracy threshold=0", NULL },
	{ BINARY DENSE BCE LOGITS " label_smoothing=1", "!model.ps:4: with "
	  "label_smoothing=1 all labels are the same" },
	{ CLASSES "p = dense x units=4" SCCE LOGITS
	  "\nmetric sparse_top_k_categorical_accuracy", "metric "
	  "sparse_top_k_categorical_accuracy: p has 4 classes, so that the "
	  "label is always among the largest 5" },
	{ CLASSES "p = dense x units=4" SCCE LOGITS
	  "\nmetric sparse_top_k_categorical_accuracy k=3", NULL },
	{ NUMBER DENSE "\nloss huber p\noptimizer adam learning_rate=0",
	  "no step changes a variable: all optimizers have the learning rate "
	  "0" },
	{ NUMBER DENSE "\nloss huber p\noptimizer adam learning_rate=0 "
	  "for=p/kernel", NULL },

	/* Zeros. */
	{ NUMBER "p = linear x\nloss huber p", NULL },
	{ NUMBER "p = linear x activation=relu\nloss huber p", STAY "p/kernel,"
	  " p/bias; give one of them another initializer" },
	{ NUMBER "p = linear x activation=relu bias_initializer=ones\n"
	  "loss huber p", NULL },
	{ NUMBER "p = linear x activation=tanh\nloss huber p", NULL },
	{ NUMBER "p = linear x\nq = linear x\nloss huber p", NULL },
	{ NUMBER "h = dense x units=3 activation=relu kernel_initializer=zeros"
	  "\np = dense h units=1\nloss huber p", STAY "h/kernel, h/bias;" },
	{ NUMBER "h = dense x units=3 kernel_initializer=zeros\n"
	  "p = dense h units=1 kernel_initializer=zeros\nloss huber p",
	  STAY "h/kernel, h/bias, p/kernel;" },
	{ NUMBER "h = dense x units=3\n"
	  "p = dense h units=1 kernel_initializer=zeros\nloss huber p", NULL },
	{ NUMBER "h = dense x units=3 kernel_initializer=zeros\n"
	  "p = dense h units=1\nloss huber p", NULL },
	{ PAIR "a = embedding u dim=2 embeddings_initializer=zeros\n"
	  "b = embedding v dim=2 embeddings_initializer=zeros\n"
	  "p = dot a b\nloss huber p", STAY "a/embeddings, b/embeddings;" },
	{ PAIR "a = embedding u dim=2 embeddings_initializer=zeros\n"
	  "b = embedding v dim=2\np = dot a b\nloss huber p", NULL },
	{ "input x sparse[9]\nlabel y float\nw = linear x\nf = factorization "
	  "x factors=2 embeddings_initializer=zeros\np = add w f\nloss huber "
	  "p", STAY "f/embeddings;" },
};

static struct model *
parse(const char *text, struct fail *f)
{
	struct model_file file = { (char *)(uintptr_t)"model.ps",
				   (char *)(uintptr_t)text,
				   strlen(text) };
	const struct model_source source = { .file = &file, .count = 1 };

	return model_parse(&source, f);
}

/* A batch of one example has no variance, unless the layer has further axes. */
static void
singles(void)
{
	struct text lines = { 0 };
	struct fail f = { .text = "" };
	struct model *m = parse(NUMBER "a = dense x units=2\n"
				"b = batch_normalization a\n"
				"p = dense b units=1\nloss huber p", &f);
	struct model *axes = parse("input x float[3,2]\nlabel y float\n"
				   "b = batch_normalization x\nc = flatten b\n"
				   "p = dense c units=1\nloss huber p", &f);

	equals(model_doubts(m, 2, &lines, &f), 0);
	equals(model_doubts(axes, 1, &lines, &f), 0);
	equals(lines.size, 0);
	equals(model_doubts(m, 1, &lines, &f), 0);
	equals(lines.data, "model.ps:4: b: in batches of 1 example each number "
	       "is its own mean, so it is always 0, and nothing before it is "
	       "trained; let -B be 2 or more\n");
	text_release(&lines);
	model_free(m);
	model_free(axes);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		const char *said = models[i].said;
		struct text lines = { 0 };
		struct fail f = { .text = "" };
		struct model *m = parse(models[i].text, &f);
		const int status = m ? model_doubts(m, 32, &lines, &f) : -2;
		const char *got = status < 0 ? f.text :
			lines.size > 0 ? lines.data : "";
		const char *want = said && *said == '!' ? said + 1 :
			said ? said : "";
		const bool good = status == (said && *said == '!' ? -1 : 0) &&
			(*want ? strncmp(got, want, strlen(want)) == 0 :
			 *got == '\0');

		if (!good)
			tap_differ(got, want);
		named_for(good, *want ? "a model that cannot learn gets: %s" :
			  "a sound model gets no warning and no error%s", want);
		model_free(m);
		text_release(&lines);
	}
	singles();
	return tap_done();
}
