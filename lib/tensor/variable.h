/*
 * variable - a named array of floats that is trained, and what belongs to it.
 */
#ifndef PS_VARIABLE_H
#define PS_VARIABLE_H

#include "tensor/initializer.h"
#include "tensor/optimizer.h"
#include "tensor/shape.h"

#include <stdbool.h>

struct variable {
	char *name;			/* "emb/embeddings" */
	struct shape shape;
	bool table;			/* its rows are looked up by id: */
	size_t lookups;			/* so many an example; 0: it depends */
	struct initializer initializer;
	const struct optimizer *optimizer;	/* borrowed from the model */
	float l1, l2;			/* regularizers; 0: none */
	bool async;			/* waits for no round: */
	bool has_mode;			/* a line of the model says it */
};

#endif
