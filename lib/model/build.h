/*
 * build - what each statement of a model file adds to the model.
 */
#ifndef PS_BUILD_H
#define PS_BUILD_H

#include "base/fail.h"
#include "model/graph.h"

/*
 * Build an empty model from all of model->statements.  Return 0; or -1 with
 * FAIL_CONFIG, and then the model is only to be freed.
 */
int build_all(struct model *, struct fail *);

#endif
