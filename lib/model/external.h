/*
 * external - who computes the layers that a program of the user's is for.
 *
 * A model has no processes: whoever runs one brings this interface along, as
 * prog/programs is one.  What is said by it is in ps-external(5).
 */
#ifndef PS_EXTERNAL_H
#define PS_EXTERNAL_H

#include "base/fail.h"
#include "tensor/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYER_EXTERNAL	"external"

struct model;

/* Floats, by the name of an input, a layer or a variable; borrowed. */
struct external_array {
	const char *name;
	size_t examples;	/* the first axis; 0: there is none before */
	struct shape shape;	/* these */
	float *at;
};

size_t external_size(const struct external_array *);	/* in floats */

struct external_call {
	const char *layer;
	bool backward, training;
	uint64_t seed;
	const struct external_array *sent, *wanted;	/* to be filled */
	size_t sents, wanteds;
};

struct externals {
	void *own;
	/*
	 * A model is to be computed: somebody is there for each such layer of
	 * it, or -1, FAIL_CONFIG.  It may be begun with more than once, and
	 * with another model of the same layers.
	 */
	int (*begin)(void *own, const struct model *, struct fail *);
	/*
	 * -1: FAIL_DATA, this batch cannot be computed; or anything else, and
	 * nothing more can be.
	 */
	int (*call)(void *own, const struct external_call *, struct fail *);
};

/* NULL is nobody, for models without such layers. */
static inline int
externals_begin(const struct externals *e, const struct model *m,
		struct fail *f)
{
	return e ? e->begin(e->own, m, f) : 0;
}

#endif
