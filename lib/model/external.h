/*
 * external - who computes what a program of the user's is for: layers, and
 * whole steps.
 *
 * A model has no processes: whoever runs one brings this interface along, as
 * prog/external_process is one.  What is said by it is in ps-external(5) and
 * ps-step(5).
 */
#ifndef PS_EXTERNAL_H
#define PS_EXTERNAL_H

#include "base/fail.h"
#include "base/text.h"
#include "tensor/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYER_EXTERNAL	"external"

struct model;

/* Numbers, by the name of an input, a layer or a variable; borrowed. */
struct external_array {
	const char *name;
	size_t examples;	/* the first axis; 0: there is none before */
	struct shape shape;	/* these */
	float *at;
	const uint64_t *id;	/* of ids instead */
	bool fixed;		/* a buffer: its new value is wanted */
};

size_t external_size(const struct external_array *);	/* in numbers */
size_t external_bytes(const struct external_array *);

/* What the program of a step says of it, besides the arrays. */
#define EXTERNAL_METRICS	64	/* at most */

struct external_answer {
	double loss;		/* the mean, */
	bool has_loss;		/* if it says one */
	uint64_t examples;	/* as they were asked for, if it says nothing */
	struct external_metric {
		char name[64];
		double sum, weight;
	} metric[EXTERNAL_METRICS];
	size_t metrics;
	struct text result;	/* JSON, in a line; empty: none */
	bool shares;		/* it uses memory that is offered to it */
	bool ended;		/* it has no more data of its own, and nothing
				   is filled */
};

/* Empty, but for its room; of so many examples unless it says. */
void external_answer_begin(struct external_answer *, uint64_t examples);

struct external_call {
	const char *op;		/* "forward" */
	const char *name;	/* of a layer, or of a step's line */
	const char *args;	/* of a step: JSON of an object */
	bool training;		/* of a layer: a backward call follows */
	uint64_t step, seed;
	uint64_t batch;		/* examples that are asked for, if it has data
				   of its own; else 0 */
	const struct external_array *sent, *wanted;	/* to be filled */
	size_t sents, wanteds;
	struct external_answer *answer;	/* to be filled; NULL: of a layer */
};

struct externals {
	void *own;
	/*
	 * A model is to be computed: somebody is there for each such layer of
	 * it and for its steps, or -1, FAIL_CONFIG.  It may be begun with more
	 * than once, and with another model of the same layers.
	 */
	int (*begin)(void *own, const struct model *, struct fail *);
	/*
	 * -1: FAIL_DATA, this batch cannot be computed; or anything else, and
	 * nothing more can be.
	 */
	int (*call)(void *own, const struct external_call *, struct fail *);
	/*
	 * For steps the same in parts, for who has other things to do in
	 * between; NULL: they are called.  Up to EXTERNAL_ASKED are asked for
	 * at a time, with all that they point to, and are taken in that order:
	 * as soon as that does not wait if the first of them is answered.
	 */
	void (*ask)(void *own, const struct external_call *);
	bool (*answered)(void *own, const struct external_call *);
	int (*take)(void *own, const struct external_call *, struct fail *);
};

#define EXTERNAL_ASKED	2

/* NULL is nobody, for models without such layers. */
static inline int
externals_begin(const struct externals *e, const struct model *m,
		struct fail *f)
{
	return e ? e->begin(e->own, m, f) : 0;
}

#endif
