/*
 * external - how a model calls programs of the user's, which compute layers and
 * whole steps.
 *
 * A model has no processes: the program that runs it brings an implementation
 * of this interface along, for example prog/external_process.  ps-external(5)
 * and ps-step(5) describe what is sent.
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

/* An array of numbers of an input, a layer or a variable; borrowed. */
struct external_array {
	const char *name;
	size_t examples;	/* the first axis; 0: there is only shape */
	struct shape shape;	/* the other axes */
	float *at;
	const uint64_t *id;	/* for ids, in place of at */
	bool fixed;		/* a buffer: the program answers its new value,
				   not a gradient */
};

size_t external_size(const struct external_array *);	/* in numbers */
size_t external_bytes(const struct external_array *);

/* What the program of a step answers besides the arrays. */
#define EXTERNAL_METRICS	64	/* metrics of an answer, at most */

struct external_answer {
	double loss;		/* mean over the examples */
	bool has_loss;		/* the program answered a loss */
	uint64_t examples;	/* as many as were asked for, unless the program
				   says another number */
	struct external_metric {
		char name[64];
		double sum, weight;
	} metric[EXTERNAL_METRICS];
	size_t metrics;
	struct text result;	/* JSON on one line; empty: none */
	bool shares;		/* the program uses the shared memory that it
				   was offered */
	bool ended;		/* the program's own data have ended; no array
				   is filled */
};

/*
 * Empty an answer, but keep its memory.  Its number of examples is this one
 * unless the program answers another.
 */
void external_answer_begin(struct external_answer *, uint64_t examples);

struct external_call {
	const char *op;		/* "forward" */
	const char *name;	/* of the layer, or of the step line */
	const char *args;	/* for a step: a JSON object; or NULL */
	bool training;		/* for a layer: a backward call follows */
	uint64_t step, seed;
	uint64_t batch;		/* examples that are asked for, if the program
				   has data of its own; else 0 */
	const struct external_array *sent, *wanted;	/* wanted: arrays to be
							   filled */
	size_t sents, wanteds;
	struct external_answer *answer;	/* to be filled; NULL for a layer */
};

struct externals {
	void *own;
	/*
	 * Prepare to compute a model.  Return 0; or -1 with FAIL_CONFIG if a
	 * layer of it or its steps have no program.  It may be called again,
	 * also with another model that has the same layers.
	 */
	int (*begin)(void *own, const struct model *, struct fail *);
	/*
	 * Call a program and wait for its answer.  Return 0; or -1 with
	 * FAIL_DATA if this batch cannot be computed, or with another failure
	 * after which nothing can be.  NULL: use ask() and take().
	 */
	int (*call)(void *own, const struct external_call *, struct fail *);
	/*
	 * The same in parts, so that the caller can do other things in between;
	 * NULL: use call().  Up to EXTERNAL_ASKED calls of steps, or else one
	 * of a layer, may be under way, with everything that they point to, and
	 * are taken in the order in which they were asked.  take() does not
	 * wait if answered() is true for the first of them.
	 */
	void (*ask)(void *own, const struct external_call *);
	bool (*answered)(void *own, const struct external_call *);
	int (*take)(void *own, const struct external_call *, struct fail *);
};

#define EXTERNAL_ASKED	2

/* Call begin(); NULL is for models without external layers or steps. */
static inline int
externals_begin(const struct externals *e, const struct model *m,
		struct fail *f)
{
	return e ? e->begin(e->own, m, f) : 0;
}

/*
 * Ask a program, if that can be done in parts, and take its answer, or the two
 * together.  In a fiber (base/fiber.h) only the fiber waits for the answer; if
 * it is given up, the failure is FAIL_AGAIN.
 */
int externals_ask(const struct externals *, const struct external_call *,
		  struct fail *);
int externals_take(const struct externals *, const struct external_call *,
		   struct fail *);
int externals_call(const struct externals *, const struct external_call *,
		   struct fail *);

#endif
