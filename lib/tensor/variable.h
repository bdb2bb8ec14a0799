/* variable - a named array of floats that is trained, and its settings. */
#ifndef PS_VARIABLE_H
#define PS_VARIABLE_H

#include "tensor/initializer.h"
#include "tensor/optimizer.h"
#include "tensor/shape.h"

#include <stdbool.h>

/*
 * A hashed table has a row for each id that was pushed to, whatever the ids are
 * (see table.h).  In its shape, and when it is cut into shards, this many
 * ranges of keys take the place of rows: the keys of a range have the same
 * first HASHED_BITS bits.
 */
#define HASHED_BITS	16
#define HASHED_RANGES	((size_t)1 << HASHED_BITS)

/*
 * Return the first key of a range; for HASHED_RANGES, the end of the last one,
 * 0.
 */
static inline uint64_t
hashed_first(size_t range)
{
	return (uint64_t)range << (64 - HASHED_BITS);
}

/*
 * A "local" line of a model: the optimizer by which a worker trains a copy of a
 * variable of its own with each batch of a step.  It pushes the difference.
 */
struct local {
	struct optimizer optimizer;
	bool keep;			/* its slots stay from one step to the
					   next; else they begin anew */
	const char *where;		/* borrowed from the model */
};

struct variable {
	char *name;			/* "emb/embeddings" */
	struct shape shape;
	bool table;			/* its rows are looked up by id */
	bool hashed;			/* a table of ids of any 64 bits */
	uint64_t admit, age, most;	/* hashed: see struct table_kind */
	size_t lookups;			/* ids that each example looks up; 0:
					   not fixed */
	struct initializer initializer;
	const struct optimizer *optimizer;	/* borrowed from the model */
	const struct local *local;	/* the same; NULL: the worker pushes
					   the gradient */
	float l1, l2;			/* regularizers; 0: none */
	bool async;			/* its gradients wait for no round */
	bool has_mode;			/* the model file sets async */
	bool averaged;			/* a moving average of values from
					   batches: a value takes the place of
					   its gradient, and its optimizer is
					   optimizer_average() */
	/* no layer uses it: no step pulls or changes it */
	bool unused;
	/*
	 * A bit for each step line of the model whose steps pull the variable,
	 * and for each whose steps change it.  In a model without step lines
	 * all bits are set.
	 */
	uint64_t lines, trained_by;
	bool partly;			/* some step lines do not train it */
};

#endif
