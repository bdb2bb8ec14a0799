/*
 * dataset - which inputs of a model are read together, from the same records.
 *
 * Inputs without from= are in data set 0, which has no name.  In a model with
 * several data sets a batch has a number of examples for each, and a step line
 * takes the data sets that its inputs lead back to.
 */
#ifndef PS_DATASET_H
#define PS_DATASET_H

#include "base/fail.h"
#include "model/batch.h"

struct model;

/*
 * Find the data sets of a model whose inputs, layers and step lines are all
 * there, and sort the inputs by data set.  Return 0, or -1 with FAIL_CONFIG.
 */
int dataset_build(struct model *, struct fail *);

/*
 * Move the features and the label that were read of one data set, which are in
 * `part`, to the batch of all inputs (join); or back again (part).  The two are
 * swapped, so no memory is copied.
 */
void dataset_join(const struct model *, size_t dataset, struct batch *,
		  struct batch *part);
void dataset_part(const struct model *, size_t dataset, struct batch *,
		  struct batch *part);

#endif
