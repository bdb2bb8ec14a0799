/*
 * build - what each statement of a model file adds to the model.
 */
#ifndef PS_BUILD_H
#define PS_BUILD_H

#include "base/fail.h"
#include "model/graph.h"

/* All of model->statements, in an empty model; 0 or -1. */
int build_all(struct model *, struct fail *);

#endif
