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

/*
 * A model file and the files it names (vocabularies), so that it can travel
 * to another machine, or into a checkpoint, whole.  file[0] is the model.
 */
#define MODEL_FILES	4096

struct model_file {
	char *name;		/* as the model names it */
	char *text;		/* size bytes and a NUL */
	size_t size;
};

struct model_source {
	struct model_file *file;
	size_t count;
};

/*
 * Read a model file, or "-", standard input, and what it names, relative to
 * its folder or to ours; what is not in that folder is refused unless it may
 * be anywhere.  Definitions, if not NULL, are put in their places.
 */
int model_source_read(struct model_source *, const char *path,
		      struct definitions *, bool anywhere, struct fail *);
void model_source_release(struct model_source *);

/* Its hash, of all files, 32 digits: are two models the same? */
void model_source_hash(const struct model_source *, char text[33]);

struct model;

/* Parse and check; messages name file:line, kind is FAIL_CONFIG. */
struct model *model_parse(const struct model_source *, struct fail *);
void model_free(struct model *);

/*
 * Add a line to the text for each input and layer that leads to neither the
 * loss nor a metric: "model.ps:4: side leads ...".
 */
void model_unused(const struct model *, struct text *);

/*
 * Is it one that can learn?  What can only be a mistake, as a cross-entropy of
 * what is no probability, is FAIL_CONFIG; a line is added to the text for each
 * thing that seldom is meant.  Who only evaluates need not ask.
 */
int model_doubts(const struct model *, struct text *, struct fail *);

/* A thread that cannot be ended may read it: it is never freed. */
void model_keep(const struct model *);

/* All borrowed, good as long as the model. */
const struct input *model_inputs(const struct model *, size_t *count);
const struct input *model_label(const struct model *);	/* or NULL */
const struct variable *model_variables(const struct model *, size_t *count);
const struct variable *model_variable(const struct model *, const char *name);
					/* or NULL */
/* An example has at most so many ids of each input that may have any number of
   them: what a step costs follows from that. */
void model_expect(struct model *, const size_t *ids);
const struct metric *model_metrics(const struct model *, size_t *count);

/*
 * Layer i of those that somebody else computes (see external.h), and the line
 * that it stands in; NULL behind the last.
 */
const char *model_external(const struct model *, size_t i, const char **where);

/*
 * Step line i, of those whose steps a program computes, and where it stands;
 * NULL behind the last.
 */
const char *model_step(const struct model *, size_t i, const char **where);
/* That of a name; of NULL the first one; false: there is none. */
bool model_find_step(const struct model *, const char *name, size_t *i);
/*
 * Inputs are read together that are of one data set; their features stand side
 * by side in a batch.  Number 0 has no name, and may have no inputs.
 */
struct model_dataset {
	const char *name;		/* "": that one; borrowed */
	const struct input *input, *label;	/* NULL: that of another one */
	size_t first, inputs;		/* features of a batch */
};
size_t model_datasets(const struct model *);
struct model_dataset model_dataset(const struct model *, size_t);
/* A bit for each data set that the step line takes; 0: its program has data of
   its own.  A model with a loss takes the first one. */
uint64_t model_reads(const struct model *, size_t line);
/* That of its first input. */
size_t model_reads_first(const struct model *, size_t line);
/* The first line that takes one data set: it evaluates and predicts, by that
   one; false: there is none. */
bool model_scored(const struct model *, size_t *line, size_t *dataset);

/* Numbers in one prediction: 1, or the classes; 0: none is made. */
size_t model_outputs(const struct model *);

#endif
