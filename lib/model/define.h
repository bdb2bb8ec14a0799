/*
 * define - what each statement of a model file adds to the model.
 */
#ifndef PS_DEFINE_H
#define PS_DEFINE_H

#include "base/fail.h"
#include "model/graph.h"

/* All of model->statements, in an empty model; 0 or -1. */
int define_all(struct model *, struct fail *);

#endif
