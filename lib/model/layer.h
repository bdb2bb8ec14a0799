/*
 * layer - what can stand behind the = of a model file: a table.
 *
 * A layer is one file, layer_NAME.c, with a const struct layer, and one line
 * in layers.c.  It is told its inputs and settings once, when the model is
 * parsed (build), and computes with them batch by batch.
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

/* What flows out of a node, over all examples at hand. */
struct flow {
	float *value;		/* examples x node_size() */
	float *gradient;	/* of the loss by it, to be added to; NULL
				   where none is wanted */
	bool fresh;		/* it holds nothing yet, and is to be set */
	size_t stride;		/* floats from one example's to the next;
				   node_size() but for what is strided */
	const struct feature *feature;	/* of ids instead: the feature, from
					   the first one on, */
	const uint32_t *row;	/* and beside its id[] which of the rows that
				   the batch needs each one is, for a layer
				   that has a table, */
	const uint32_t *to;	/* and which of the gradients is its row's */
};

/* One node in a batch, or in a block of it. */
struct pass {
	const struct node *node;
	size_t first, examples;		/* of the batch: these */
	bool training;
	bool begun;		/* its gradient: something was put there */
	bool fresh;		/* dw[0] holds nothing yet, and is to be set:
				   of a layer that sets_weights */
	uint64_t seed;		/* of this step */
	const struct variable *variable;	/* the model's */
	const struct externals *externals;	/* NULL: no layer needs them, */
	struct fail *failure;	/* and what they failed with */
	struct flow *in;	/* node->ins */
	struct flow out;
	float *w[NODE_VARIABLES];	/* variables; of a table the rows that
					   the batch needs: see in->row */
	float *dw[NODE_VARIABLES];	/* their gradients, to be added to; of
					   a table see in->to */
	float *scratch;		/* examples x node->scratch */
	const struct feature *label;	/* of the whole batch; without an
					   input: it has none */
	const float *labels;	/* the same as numbers, if it is of floats */
};

struct layer {
	const char *name;
	size_t min_inputs, max_inputs;	/* inputs */
	size_t private;		/* bytes of node->private */
	bool is_activation;	/* it may stand behind activation= */
	bool takes_activation;	/* and this one before it, which may take the
				   place of what comes out: backward does
				   without that */
	bool has_embeddings;	/* a table that share= of others may name */
	bool needs_whole_batch;	/* all examples of a batch at once, */
	bool is_barrier;	/* between blocks of the others, which may be
				   computed by other threads */
	bool takes_label;	/* as one of its inputs: node->label */
	/*
	 * If it has several outputs, its own node has all of them in a row:
	 * the k-th one's name, or NULL behind the last.  Each is a node of
	 * that kind, of which this one is the input.
	 */
	const char *(*output)(const struct node *, size_t k);
	const struct layer *output_layer;

	/* Where values lie: see buffer_plan.c. */
	bool aliases_input;	/* the output is the input's floats, as they
				   lie: forward and backward are NULL */
	bool takes_stride;	/* its output may have any stride, */
	bool holds_inputs;	/* and lie in this one's output where it
				   belongs; of one axis, that is */
	bool sets_fresh;	/* backward sets what is fresh; for all others
				   zeros are there to be added to */
	bool sets_weights;	/* ... the first gradient of a block, if that
				   is of no table, too */

	/* Set node->shape, private, scratch; declare variables; 0 or -1. */
	int (*build)(struct model *, struct node *, struct settings *,
		     struct fail *);
	void (*forward)(const struct pass *);
	void (*backward)(const struct pass *);
};

const struct layer *layer_find(const char *name);	/* or NULL */
/* Add the names of all layers, or of those that activation= takes. */
void layer_names(struct choices *, bool activations);
/* The names that layer_activation goes by; NULL behind the last. */
const char *activation_name(size_t i);

/* For build functions.  They refuse with the line and the shapes. */

/* All inputs carry floats, or all carry ids. */
int node_wants_floats(const struct node *, struct fail *);
int node_wants_ids(const struct node *, struct fail *);
int node_wants_same_shapes(const struct node *, struct fail *);

/*
 * axis= as Keras counts: 0 is the batch, -1 the last.  *axis is the default
 * before, and the axis of the example's shape (one less) after.
 */
int node_axis(const struct node *, struct settings *, int *axis,
	      struct fail *);

/*
 * Declare "node/weight", with weight_initializer= and weight_regularizer=
 * taken from the settings.  A table's rows are input 0's ids.
 */
int node_variable(struct model *, struct node *, const char *weight,
		  struct shape, bool table, const char *initializer,
		  struct settings *, struct fail *);

/* "[3,4]", which must be there, is the shape of an example. */
int node_shape(struct node *, const char *key, struct settings *,
	       struct fail *);

/* Take this setting, if it is there, as "l1:A", "l2:A" or "l1_l2:A:B". */
int variable_regularizer(struct variable *, const char *key,
			 struct settings *, struct fail *);

/*
 * A table with a row of dim= floats for each of input 0's ids, "embeddings",
 * or that of the embedding, or attention, which share= names.
 */
int node_embeddings(struct model *, struct node *, struct settings *,
		    size_t *dim, struct fail *);

/* For layers over ids: where those of example i stand in feature->id[]. */
struct bag {
	size_t first, count;
};
struct bag flow_bag(const struct flow *, size_t example);
float flow_weight(const struct flow *, size_t at);	/* 1 if it has none */
/* That times a scale which may be no float. */
static inline float
flow_share(const struct flow *flow, size_t at, double scale)
{
	const float *weight = flow->feature->weight;

	return weight ? (float)(scale * (double)weight[at]) : (float)scale;
}

/* y += the rows of a bag, of so many floats, each times its share. */
void flow_add_rows(const struct flow *, struct bag, double scale,
		   const float *rows, size_t width, float *y);

#endif
