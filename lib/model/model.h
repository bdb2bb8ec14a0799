/*
 * model - a model file, read and checked: inputs, graph, loss, metrics,
 * variables and their optimizers.  The language is in ps-model(5).
 *
 * A model holds no values.  What computes with it is a struct compute.
 */
#ifndef PS_MODEL_H
#define PS_MODEL_H

#include "base/fail.h"
#include "base/text.h"
#include "model/definitions.h"
#include "model/input.h"
#include "model/metric.h"
#include "tensor/variable.h"

#define MODEL_FILES	4096			/* of a model, at most, */
#define MODEL_BYTES	((size_t)1 << 20)	/* and bytes of the first */

/*
 * A model file and the files that it names (vocabularies), all together, so
 * that it can be sent to another machine or stored in a checkpoint.  file[0] is
 * the model.
 */
struct model_file {
	char *name;		/* as the model names it */
	char *text;		/* size bytes and a NUL */
	size_t size;
};

struct model_source {
	struct model_file *file;
	size_t count;
	/* What stood for the ${NAME}s of the first file, which has the values
	   in their places. */
	struct model_value {
		char *name, *value;
	} *value;
	size_t values;
};

/*
 * Read a model file, or "-" for standard input, and the files that it names,
 * relative to its folder, or for standard input to the working directory.  A
 * file outside that folder is refused (FAIL_DENIED) unless anywhere is set.
 * ${NAME}s are replaced by the definitions, which may be NULL.  Return 0; or -1
 * with FAIL_NOINPUT, FAIL_DENIED or FAIL_CONFIG.  The caller releases the
 * source.
 */
int model_source_read(struct model_source *, const char *path,
		      struct definitions *, bool anywhere, struct fail *);
void model_source_release(struct model_source *);

/*
 * Write the hash of all files, 32 digits, by which two models can be compared.
 */
void model_source_hash(const struct model_source *, char text[33]);

struct model;

/*
 * Parse and check a model, which the caller frees; NULL with FAIL_CONFIG, and a
 * message that names file:line.  The source is not needed any more afterwards.
 */
struct model *model_parse(const struct model_source *, struct fail *);
void model_free(struct model *);

/*
 * Add a line to the text, "model.ps:4: side leads ...", for each input and
 * layer that leads to neither the loss nor a metric.
 */
void model_unused(const struct model *, struct text *);

/*
 * Check whether the model can learn.  Return -1 with FAIL_CONFIG for what can
 * only be a mistake, for example a cross-entropy of numbers that are not
 * probabilities; else 0, and add a line to the text for each thing that is
 * seldom meant.  batch: the examples of a batch.  A program that only evaluates
 * need not call it.
 */
int model_doubts(const struct model *, uint64_t batch, struct text *,
		 struct fail *);

/*
 * Never free this model: a thread that cannot be ended may still read it.
 * model_free() does nothing then.
 */
void model_keep(const struct model *);

/* What these return is borrowed, good as long as the model. */
const struct input *model_inputs(const struct model *, size_t *count);
const struct input *model_label(const struct model *);	/* or NULL */
const struct variable *model_variables(const struct model *, size_t *count);
const struct variable *model_variable(const struct model *, const char *name);
					/* or NULL */
/*
 * Set how many ids an example has at most, for each input that may have any
 * number of them (0: not known); the estimates of a step's cost use it.
 */
void model_expect(struct model *, const size_t *ids);
const struct metric *model_metrics(const struct model *, size_t *count);

/*
 * Return the name of layer i of those that a program computes (see external.h),
 * and set *where to its line; NULL behind the last.
 */
const char *model_external(const struct model *, size_t i, const char **where);

/*
 * Return the name of step line i, and set *where to its line; NULL behind the
 * last.
 */
const char *model_step(const struct model *, size_t i, const char **where);

/* Return whether a program computes a layer of the model, or a step. */
bool model_has_programs(const struct model *);

/*
 * Find a step line by its name, or for NULL the first one.  Return false if
 * there is none.
 */
bool model_find_step(const struct model *, const char *name, size_t *i);
/* What its "local" lines say. */
struct model_local {
	uint64_t steps;		/* batches that a worker trains its own copy
				   with between a pull and a push; 0: there is
				   no such line */
	const char *where;	/* the first one, */
	const char *keeps;	/* and that with slots=keep; NULL: none */
};
struct model_local model_local(const struct model *);

/*
 * A data set: inputs that are read together.  Their features are side by side
 * in a batch.  Number 0 has no name, and may have no inputs.
 */
struct model_dataset {
	const char *name;		/* borrowed; "" for number 0 */
	const struct input *input, *label;	/* label NULL: it is of another
						   data set, or there is none */
	size_t first, inputs;		/* its features in a batch */
};
size_t model_datasets(const struct model *);
struct model_dataset model_dataset(const struct model *, size_t);
/*
 * Return a bit for each data set that a step line takes; 0: its program has
 * data of its own.  A model with a loss takes number 0.
 */
uint64_t model_reads(const struct model *, size_t line);
/* Return the data set of the line's first input. */
size_t model_reads_first(const struct model *, size_t line);
/*
 * Find the first step line that takes a single data set: evaluation and
 * prediction use that line and that set.  Return false if there is none.
 */
bool model_scored(const struct model *, size_t *line, size_t *dataset);

/*
 * Return how many numbers a prediction has: 1, or the number of classes; 0: the
 * model predicts nothing.
 */
size_t model_outputs(const struct model *);

#endif
