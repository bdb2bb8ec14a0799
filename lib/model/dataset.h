/*
 * dataset - which inputs of a model are read together, of the same records.
 *
 * Those without from= are of data set 0, which has no name.  A batch of a model
 * with several has as many examples of each as were read of it, and a step line
 * takes the data sets that its inputs lead back to.
 */
#ifndef PS_DATASET_H
#define PS_DATASET_H

#include "base/fail.h"
#include "model/batch.h"

struct model;

/* All inputs, layers and step lines are there: inputs of a data set are put
   side by side. */
int dataset_build(struct model *, struct fail *);

/*
 * What was read of one data set alone changes places with its features and
 * label in a batch of all inputs; and back again.
 */
void dataset_join(const struct model *, size_t dataset, struct batch *,
		  struct batch *part);
void dataset_part(const struct model *, size_t dataset, struct batch *,
		  struct batch *part);

#endif
