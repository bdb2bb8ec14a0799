/*
 * optimizer - how a gradient changes a variable.
 *
 * Names, defaults and formulas are Keras's; see the table of each kind.  The
 * servers apply them; a variable's slots (momentum, accumulator ...) live
 * beside it, element for element.
 */
#ifndef PS_OPTIMIZER_H
#define PS_OPTIMIZER_H

#include "base/fail.h"
#include "base/settings.h"
#include "tensor/schedule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIMIZER_SLOTS	4
#define OPTIMIZER_HYPER	8

struct optimizer_kind;

/* One "optimizer" line of a model. */
struct optimizer {
	const struct optimizer_kind *kind;
	struct schedule schedule;	/* holds the learning rate */
	double hyper[OPTIMIZER_HYPER];	/* what else the kind takes */
	float weight_decay;		/* 0: none */
	float clipvalue, clipnorm, global_clipnorm;	/* 0: none */
	bool frozen;			/* a model that says a rate of 0 has
					   its values and slots stay */
	size_t slots;			/* how many this one needs */
	const char *slot_name[OPTIMIZER_SLOTS];	/* "momentum", ... */
	float slot_start[OPTIMIZER_SLOTS];	/* their first value */
};

/* Does it keep small weights at 0, by what gradients come to exactly? */
bool optimizer_thresholds(const struct optimizer *);

/* A float at any address, as those of a frame are. */
typedef float loose_float __attribute__((aligned(1)));

/*
 * Elements to change.  w, slot[] and sum do not overlap; w and slot[] need
 * only the alignment of a float.
 */
struct update {
	float *w;			/* n */
	float *slot[OPTIMIZER_SLOTS];	/* n each */
	const loose_float *sum;		/* n: gradients, clipped */
	float examples;			/* that they are sums over */
	size_t n;
	float learning_rate;
	uint64_t t;			/* updates of this variable, this one
					   included: 1 at the first */
};

/* Of a name ("adam") and its settings, which it takes from s. */
int optimizer_parse(struct optimizer *, const char *name, struct settings *s,
		    struct fail *);
/*
 * What is no gradient, but to be averaged: w = momentum w + (1 - momentum) x,
 * whatever the learning rate.
 */
void optimizer_average(struct optimizer *, float momentum);

/*
 * Do the slots that another one made suit this one, as far as it had them, and
 * goes on what it has counted?  Another kind begins anew, though it calls a
 * slot by the same name.
 */
bool optimizer_goes_on(const struct optimizer *, const struct optimizer *was);

const char *optimizer_name(const struct optimizer *);

void optimizer_apply(const struct optimizer *, const struct update *);

#endif
