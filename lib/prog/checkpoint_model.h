/*
 * checkpoint_model - a checkpoint, ready to be computed with: its model, and
 * values for any batch.
 *
 * Variables that every batch needs whole are read once and kept; of tables,
 * only the rows of a batch are read, each time.  So memory is bounded by the
 * model without its tables, and tables by the page cache; but hashed tables
 * are read whole, since their rows are found by id.
 */
#ifndef PS_CHECKPOINT_MODEL_H
#define PS_CHECKPOINT_MODEL_H

#include "model/compute.h"
#include "store/checkpoint.h"
#include "tensor/hashed.h"

struct checkpoint_model {
	struct checkpoint *from;
	struct model *model;
	float **value;		/* of each variable; NULL: a table */
	struct table **table;	/* of each; NULL: it is not hashed */
	struct hashed *hashed;
};

/*
 * Takes the checkpoint over, also on failure.  FAIL_DATA if it does not hold
 * what its own model needs.
 */
int checkpoint_model_open(struct checkpoint_model *, struct checkpoint **,
			  struct fail *);
void checkpoint_model_close(struct checkpoint_model *);

/* Fill in the values that compute_begin() has found to be needed. */
int checkpoint_model_fill(struct checkpoint_model *, struct compute *,
			  struct fail *);

#endif
