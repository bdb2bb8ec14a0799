/*
 * graph - a model as its layers see it: nodes in the order of computation.
 *
 * The inside of struct model, for those who build it (model, layer_*) and
 * those who run it (compute).
 */
#ifndef PS_GRAPH_H
#define PS_GRAPH_H

#include "base/names.h"
#include "model/input.h"
#include "model/lexer.h"
#include "model/loss.h"
#include "model/metric.h"
#include "model/model.h"
#include "tensor/variable.h"

#include <stdbool.h>
#include <stddef.h>

#define NODE_NAME	64		/* of a name and its NUL, at most */
#define NODE_VARIABLES	32		/* of one layer, at most */
#define NODE_FLOATS	((size_t)1 << 26)	/* of one example, at most */
#define MODEL_WORDS	((size_t)1 << 27)	/* bytes of all vocabularies */

/* An input, or a layer's output. */
struct node {
	char *name;
	const char *where;		/* "model.ps:4"; the statement's */
	const char *kind;		/* the layer's name as written */
	const struct layer *layer;	/* NULL: an input */
	const struct input *input;	/* NULL: a layer */
	struct shape shape;		/* of an example's floats; rank >= 1 */
	struct node **in;		/* borrowed */
	size_t ins;
	size_t label;			/* its place among them, from 1; 0: it
					   is none of them */
	void *private;			/* layer->private bytes, freed with
					   it */
	size_t variable[NODE_VARIABLES];	/* into model->variable */
	size_t variables;
	float low, high;		/* all its numbers are between, where
					   the kind alone does not tell; else
					   both are 0 */
	size_t scratch;			/* floats an example, kept from the
					   forward to the backward pass */
	bool trained;			/* variables here or further up: a
					   gradient is wanted */
	uint64_t lines;			/* a bit for each step line that it
					   leads to, as its variables have */
	const struct node *shares;	/* the layer whose table it has, too */
	bool by_output;			/* its backward pass looks at what came
					   out of it, not at what went in */
	/* Where its numbers lie: see buffer_plan.h. */
	bool in_place;			/* where its input's were */
	const struct node *home;	/* in that one's, NULL: not so, */
	size_t home_at;			/* from this float of an example on */
	const struct node *room;	/* whose numbers its own are, but for
					   the home that this one has */
	size_t dataset;			/* of whose examples it is */
	size_t index;			/* model->node[index] is this one */
	size_t feature;			/* of an input: into batch->feature */
	size_t place;			/* of a layer over ids: its input among
					   those of its table's group */
};

/* Inputs that look up the same tables: all of their ids, one's behind the
   other's, are gathered together. */
struct group {
	size_t *feature, features;	/* into batch->feature */
	size_t *variable, variables;	/* the tables, into model->variable */
	size_t feature_room, variable_room;
	size_t first;		/* of all groups' features: its first one's
				   number */
};

#define DATASETS	32	/* of a model, at most */

/* What is read together: so many inputs from the first one on. */
struct dataset {
	const char *name;	/* ""; or as from= has it */
	size_t first, inputs;
};

#define STEP_LINES	32	/* of a model, at most */

/* A line that has a program compute steps; names are the statement's. */
struct step_line {
	const char *name;
	const char *where;
	const struct node **in;		/* what it is sent; NULL: the label */
	size_t ins;
	size_t *variable, variables;	/* into model->variable */
	bool *reads;			/* each of those: no gradient of it */
	uint64_t datasets;		/* a bit for each that it takes */
	bool predicts;			/* so many numbers of an example: */
	struct shape prediction;
};

struct model {
	bool kept;			/* see model_keep() */
	struct statements statements;
	const struct model_source *source;	/* while it is parsed */
	struct names file_named;		/* its files, as well */
	struct input *input;
	size_t inputs;
	struct dataset *dataset;	/* one has no name, and comes first */
	size_t datasets;
	struct input label;
	bool labelled;
	struct node **node;		/* inputs anywhere before their use */
	size_t nodes, node_room;
	struct names node_named;	/* the last one of a name */
	struct variable *variable;
	size_t variables, variable_room;
	struct names variable_named;
	struct names lookup_named;	/* inputs whose words others have, too,
					   by what they were made of */
	size_t words;			/* bytes of vocabularies so far */
	struct group *group;		/* each into batch->gather */
	size_t groups;
	struct optimizer **optimizer;
	size_t optimizers, optimizer_room;
	const struct optimizer *fallback;	/* of the line without for= */
	struct metric *metric;
	struct node **metric_node;	/* what each looks at */
	size_t metrics, metric_room, metric_node_room;
	struct step_line *step;		/* in the place of all below */
	size_t steps, step_room;
	struct loss loss;
	const char *loss_where;
	float *class_weight;		/* what an example of each class counts;
					   NULL: 1 */
	const struct node *sample_weight;	/* what each counts; or NULL */
	struct node *loss_node;		/* what it looks at: logits, if so */
	struct node *prediction;	/* the same as probabilities */
};

/* Does it carry ids rather than floats? */
bool node_ids(const struct node *);
size_t node_size(const struct node *);	/* floats of an example */

/* By name, or NULL. */
struct node *model_find(const struct model *, const char *name);

/* Append; the name is copied. */
struct node *model_add_node(struct model *, const char *name,
			    const char *where);

/*
 * Append the variable "owner/weight" (or "owner", without a weight), checked
 * to be new and of a sound shape; its index, or -1.
 */
int model_add_variable(struct model *, const char *where, const char *owner,
		       const char *weight, struct shape, struct fail *);

#endif
