/*
 * checkpoint_model - a checkpoint, ready to be computed with: its model, and
 * values for any batch.
 *
 * Variables that every batch needs as a whole are read once and kept.  Of a
 * table only the rows of a batch are read, for each batch; so the memory is
 * that of the model without its tables, and the page cache keeps what it can of
 * these.  Hashed tables are read as a whole, since their rows are found by id.
 */
#ifndef PS_CHECKPOINT_MODEL_H
#define PS_CHECKPOINT_MODEL_H

#include "model/compute.h"
#include "store/checkpoint.h"
#include "tensor/hashed.h"

struct checkpoint_model {
	struct checkpoint *from;
	struct model *model;
	float **value;		/* one for each variable; NULL: a table */
	struct table **table;	/* one for each variable; NULL: not hashed */
	struct hashed *hashed;
};

/*
 * Open a checkpoint for computing.  The checkpoint is taken over, and the
 * caller's pointer set to NULL, also on failure.  Return 0; or -1, with
 * FAIL_DATA if the checkpoint lacks something that its own model needs.
 */
int checkpoint_model_open(struct checkpoint_model *, struct checkpoint **,
			  struct fail *);
void checkpoint_model_close(struct checkpoint_model *);

/*
 * Set the values that a compute needs for its batch, after compute_begin().
 * Return 0, or -1 with the reason.
 */
int checkpoint_model_fill(struct checkpoint_model *, struct compute *,
			  struct fail *);

#endif
