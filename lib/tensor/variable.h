/*
 * variable - a named array of floats that is trained, and what belongs to it.
 */
#ifndef PS_VARIABLE_H
#define PS_VARIABLE_H

#include "tensor/initializer.h"
#include "tensor/optimizer.h"
#include "tensor/shape.h"

#include <stdbool.h>

/*
 * A hashed table has the rows that are met, whatever their ids (see table.h).
 * For its shape, and when it is cut into shards, this many ranges of keys
 * stand for rows: all keys with the same first bits are in one.
 */
#define HASHED_BITS	16
#define HASHED_RANGES	((size_t)1 << HASHED_BITS)

/* The first key of a range; of the one behind the last it is 0 again. */
static inline uint64_t
hashed_first(size_t range)
{
	return (uint64_t)range << (64 - HASHED_BITS);
}

struct variable {
	char *name;			/* "emb/embeddings" */
	struct shape shape;
	bool table;			/* its rows are looked up by id: */
	bool hashed;			/* of any 64 bits, */
	uint64_t admit, age, most;	/* see struct table_kind */
	size_t lookups;			/* so many an example; 0: it depends */
	struct initializer initializer;
	const struct optimizer *optimizer;	/* borrowed from the model */
	float l1, l2;			/* regularizers; 0: none */
	bool async;			/* waits for no round: */
	bool has_mode;			/* a line of the model says it */
	bool averaged;			/* from what batches have: its
					   gradient is that, its optimizer its
					   own */
	bool unused;			/* by layers: no step pulls it, or
					   changes it */
	/* A bit for each step line of the model whose steps pull it, and of
	   those whose steps change it; of one without: all of them. */
	uint64_t lines, trained_by;
};

#endif
