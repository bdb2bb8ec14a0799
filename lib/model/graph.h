/*
 * graph - a model as its layers see it: nodes in the order of computation.
 *
 * This is the inside of struct model, for the code that builds it (model,
 * build, layer_*) and that runs it (compute).
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

#define NODE_NAME	64		/* bytes of a name with its NUL, at
					   most */
#define NODE_VARIABLES	32		/* variables of a layer, at most */
#define NODE_FLOATS	((size_t)1 << 26)	/* floats of an example, at
						   most */
#define MODEL_WORDS	((size_t)1 << 27)	/* bytes of all vocabularies, at
						   most */

/* An input, or a layer's output. */
struct node {
	char *name;
	const char *where;		/* "model.ps:4"; borrowed from the
					   statement */
	const char *kind;		/* the layer's name as written */
	const struct layer *layer;	/* NULL: an input */
	const struct input *input;	/* NULL: a layer */
	struct shape shape;		/* of one example; rank >= 1 */
	struct node **in;		/* the inputs; the nodes are borrowed */
	size_t ins;
	size_t label;			/* the label's place among the inputs,
					   from 1; 0: the label is not one */
	void *private;			/* layer->private bytes, freed with the
					   node */
	size_t variable[NODE_VARIABLES];	/* into model->variable */
	size_t variables;
	float low, high;		/* all numbers are in this range, if the
					   kind alone does not say so; else both
					   are 0 */
	float scale, offset;		/* of a rescaling */
	size_t scratch;			/* floats for each example, kept from
					   the forward to the backward pass */
	bool trained;			/* this node or one that it depends on
					   has variables: it needs a gradient */
	uint64_t lines;			/* a bit for each step line that the
					   node leads to, as of its variables */
	const struct node *shares;	/* another layer, whose table this one
					   uses; or NULL */
	bool by_output;			/* the backward pass reads the output,
					   not the input */
	/* Where its numbers lie: see buffer_plan.h. */
	bool in_place;			/* it overwrites its input */
	const struct node *home;	/* they lie within this node's; or
					   NULL */
	size_t home_at;			/* and begin at this float of each
					   example */
	const struct node *room;	/* the node whose memory it uses, itself
					   if it has its own; a home takes its
					   place */
	size_t dataset;			/* the data set of its examples */
	size_t index;			/* model->node[index] is this one */
	size_t feature;			/* an input's: index in
					   batch->feature */
	size_t place;			/* a layer's over ids: index of its
					   input in the group of its table */
};

/*
 * Inputs that look up the same tables.  The ids of all of them, one input
 * behind the other, are gathered together.
 */
struct group {
	size_t *feature, features;	/* indices in batch->feature */
	size_t *variable, variables;	/* the tables: indices in
					   model->variable */
	size_t feature_room, variable_room;
	size_t first;		/* where its features + 1 entries begin in
				   compute's table of ids before each feature */
};

#define DATASETS	32	/* of a model, at most */

/* Inputs that are read together, from the first one on. */
struct dataset {
	const char *name;	/* the name in from=; "" without one */
	size_t first, inputs;
};

#define STEP_LINES	32	/* of a model, at most */

/*
 * A step line, whose steps a program computes; names are borrowed from the
 * statement.
 */
struct step_line {
	const char *name;
	const char *where;
	const struct node **in;		/* what the program is sent; NULL: the
					   label */
	size_t ins;
	size_t *variable, variables;	/* into model->variable */
	bool *reads;			/* for each variable: it is sent only,
					   and has no gradient */
	uint64_t datasets;		/* a bit for each data set that it
					   takes */
	bool predicts;			/* it predicts numbers for each example,
					   of this shape */
	struct shape prediction;
};

struct model {
	bool kept;			/* see model_keep() */
	struct statements statements;
	const struct model_source *source;	/* only while the model is
						   parsed */
	struct names file_named;		/* source's files by their
						   names */
	struct input *input;
	size_t inputs;
	struct dataset *dataset;	/* the first one has no name */
	size_t datasets;
	struct input label;
	bool labelled;
	struct node **node;		/* a node comes after its inputs */
	size_t nodes, node_room;
	struct names node_named;	/* the last node of each name */
	struct variable *variable;
	size_t variables, variable_room;
	struct names variable_named;
	struct names lookup_named;	/* look-ups by what they were made of,
					   for inputs that share words */
	size_t words;			/* bytes of all vocabularies so far */
	struct group *group;		/* indices are those of batch->gather */
	size_t groups;
	struct optimizer **optimizer;
	size_t optimizers, optimizer_room;
	const struct optimizer *fallback;	/* from the line without for= */
	struct local **local;
	size_t locals, local_room;
	const struct local *local_rest;	/* from the line without for= */
	uint64_t local_steps;		/* what all of them say */
	struct metric *metric;
	struct node **metric_node;	/* the node that each metric reads */
	size_t metrics, metric_room, metric_node_room;
	struct step_line *step;		/* if there are step lines, there is
					   nothing of the loss below */
	size_t steps, step_room;
	struct loss loss;
	const char *loss_where;
	float *class_weight;		/* the weight of an example of each
					   class; NULL: 1 */
	const struct node *sample_weight;	/* the weight of each example;
						   NULL: 1 */
	struct node *loss_node;		/* the node that the loss reads: logits
					   if loss.logits */
	struct node *prediction;	/* the node of the probabilities, or
					   values */
};

/* Return whether a node is an input of ids, not of floats. */
bool node_ids(const struct node *);
size_t node_size(const struct node *);	/* floats of an example */

/* Return the last node with this name, or NULL. */
struct node *model_find(const struct model *, const char *name);

/* Append a node, and return it.  The name is copied, where is borrowed. */
struct node *model_add_node(struct model *, const char *name,
			    const char *where);

/*
 * Append the variable "owner/weight" (or "owner" if weight is NULL), whose
 * owner's name the caller has found to be new.  Return its index; or -1 with
 * FAIL_CONFIG if the shape is not sound.
 */
int model_add_variable(struct model *, const char *where, const char *owner,
		       const char *weight, struct shape, struct fail *);

#endif
