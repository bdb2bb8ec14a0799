/*
 * layer - the kinds of layers of a model file.
 *
 * A layer is one file, layer_NAME.c, with a const struct layer, and one line in
 * layers.c.  It is given its inputs and settings once, when the model is parsed
 * (build), and then computes batch by batch.
 */
#ifndef PS_LAYER_H
#define PS_LAYER_H

#include "base/choices.h"
#include "base/fail.h"
#include "base/settings.h"
#include "model/batch.h"
#include "model/external.h"
#include "model/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The output of a node for all examples at hand. */
struct flow {
	float *value;		/* examples x node_size() */
	float *gradient;	/* of the loss with respect to value, to be
				   added to; NULL where none is needed */
	bool fresh;		/* gradient is undefined yet, and is to be
				   set */
	size_t stride;		/* floats from one example to the next;
				   node_size() unless the layer takes_stride */
	const struct feature *feature;	/* for ids, in place of value: the
					   feature, from the first example at
					   hand on */
	const uint32_t *row;	/* for a layer with a table: the index of each
				   id's row among the rows of the batch */
	const uint32_t *to;	/* and the index of that row's gradient in
				   dw[] */
};

/* One node with a batch, or with a block of it. */
struct pass {
	const struct node *node;
	size_t first, examples;		/* these examples of the batch */
	bool training;
	bool begun;		/* its gradient is in use */
	bool fresh;		/* dw[0] is undefined yet, and is to be set:
				   only for a layer that sets_weights */
	uint64_t seed;		/* of this step */
	const struct variable *variable;	/* all variables of the model */
	const struct externals *externals;	/* NULL: no layer needs them */
	struct fail *failure;	/* set when externals fail */
	struct flow *in;	/* node->ins */
	struct flow out;
	float *w[NODE_VARIABLES];	/* values of the node's variables; of a
					   table the rows that the batch needs:
					   see in->row */
	float *dw[NODE_VARIABLES];	/* their gradients, to be added to; of a
					   table see in->to */
	float *scratch;		/* examples x node->scratch */
	const struct feature *label;	/* of the whole batch; without an input
					   if there are no labels */
	const float *labels;	/* of the examples at hand, if labels are
				   floats */
};

struct layer {
	const char *name;
	size_t min_inputs, max_inputs;
	size_t private;		/* bytes of node->private */
	bool is_activation;	/* activation= may name it */
	bool takes_activation;	/* it may have activation=, and be overwritten
				   by the activation: backward does not read its
				   output */
	bool has_embeddings;	/* share= of another layer may name it */
	bool needs_whole_batch;	/* it computes all examples of a batch at
				   once */
	bool is_barrier;	/* all blocks of the layers around it, which
				   other threads may compute, wait for each
				   other there */
	bool takes_label;	/* the label may be one of its inputs:
				   node->label */
	/*
	 * For a layer with several outputs, whose own node has all of them in a
	 * row: return the name of output k, or NULL behind the last.  Each
	 * output is a node of the kind output_layer, whose input is this node.
	 */
	const char *(*output)(const struct node *, size_t k);
	const struct layer *output_layer;

	/* Where values lie: see buffer_plan.c. */
	bool aliases_input;	/* the output is the input's floats as they lie:
				   forward and backward are NULL */
	bool takes_stride;	/* the output may have any stride */
	bool holds_inputs;	/* inputs of one axis that take a stride may lie
				   in its output, where they belong */
	bool sets_fresh;	/* backward sets gradients that are fresh; other
				   layers find zeros to add to */
	bool sets_weights;	/* backward sets the first gradient of a block
				   for its weights, unless they are a table's */

	/*
	 * Set node->shape, private and scratch, and declare variables.  Return
	 * 0, or -1 with FAIL_CONFIG.
	 */
	int (*build)(struct model *, struct node *, struct settings *,
		     struct fail *);
	void (*forward)(const struct pass *);
	void (*backward)(const struct pass *);
};

const struct layer *layer_find(const char *name);	/* NULL: none */
/* Add the names of all layers, or only of those that activation= may name. */
void layer_names(struct choices *, bool activations);
/*
 * Return name i of the activations that layer_activation.c defines; NULL behind
 * the last.
 */
const char *activation_name(size_t i);

/*
 * For build functions.  Each returns 0; or -1 with FAIL_CONFIG and a message
 * with the line and the shapes.
 */

/* Check that all inputs have floats; or ids; or the same shape. */
int node_wants_floats(const struct node *, struct fail *);
int node_wants_ids(const struct node *, struct fail *);
int node_wants_same_shapes(const struct node *, struct fail *);

/*
 * Read axis= as Keras counts: 0 is the batch, -1 the last axis.  *axis is the
 * default before the call, and after it the index in the shape of an example (1
 * less than Keras's).
 */
int node_axis(const struct node *, struct settings *, int *axis,
	      struct fail *);

/*
 * Declare the variable "node/weight", with the settings weight_initializer=
 * (default: initializer) and weight_regularizer=.  The rows of a table are the
 * ids of input 0.
 */
int node_variable(struct model *, struct node *, const char *weight,
		  struct shape, bool table, const char *initializer,
		  struct settings *, struct fail *);

/* Fail because the layer's line lacks a key; the message names a setting that
   is probably meant for it. */
int node_missing(const struct node *, const struct settings *,
		 const char *key, struct fail *);

/*
 * Read the setting key, which must be there, as the shape of an example:
 * "[3,4]".
 */
int node_shape(struct node *, const char *key, struct settings *,
	       struct fail *);

/* Read the setting key, if it is there, as "l1:A", "l2:A" or "l1_l2:A:B". */
int variable_regularizer(struct variable *, const char *key,
			 struct settings *, struct fail *);

/*
 * Declare the table "embeddings" with a row of dim= floats for each id of input
 * 0; or use the table of the embedding or attention that share= names.  Set
 * *dim.
 */
int node_embeddings(struct model *, struct node *, struct settings *,
		    size_t *dim, struct fail *);

/*
 * For layers over ids: where the ids of an example stand in feature->id[]:
 * count of them from first on.
 */
struct bag {
	size_t first, count;
};
struct bag flow_bag(const struct flow *, size_t example);
float flow_weight(const struct flow *, size_t at);	/* 1 without weights */
/* Return that weight times a scale in double precision. */
static inline float
flow_share(const struct flow *flow, size_t at, double scale)
{
	const float *weight = flow->feature->weight;

	return weight ? (float)(scale * (double)weight[at]) : (float)scale;
}

/*
 * y[width] += the sum of the rows of a bag, each of width floats and times its
 * share; long bags are added up in double precision.
 */
void flow_add_rows(const struct flow *, struct bag, double scale,
		   const float *rows, size_t width, float *y);

#endif
