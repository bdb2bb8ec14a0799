/*
 * optimizer - how a gradient changes a variable.
 *
 * Names, defaults and formulas are Keras's; see the table of each kind.  The
 * servers apply an optimizer.  Its slots (momentum, accumulator ...)  are
 * stored beside the variable, one element for each element of the variable.
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
	double hyper[OPTIMIZER_HYPER];	/* the kind's other settings */
	float weight_decay;		/* 0: none */
	float clipvalue, clipnorm, global_clipnorm;	/* 0: none */
	bool frozen;			/* the model's rate is 0 throughout:
					   values and slots never change */
	size_t slots;			/* number of slots in use */
	const char *slot_name[OPTIMIZER_SLOTS];	/* "momentum", ... */
	float slot_start[OPTIMIZER_SLOTS];	/* first value of each */
};

/*
 * Return whether the optimizer sets weights to exactly 0 by comparing sums of
 * gradients with a threshold (FTRL): then a rounded gradient changes which
 * weights are 0.
 */
bool optimizer_thresholds(const struct optimizer *);

/* A float at any address, such as one in a frame. */
typedef float loose_float __attribute__((aligned(1)));

/*
 * n elements to change.  w, slot[] and sum do not overlap; w and slot[] are
 * aligned as floats.
 */
struct update {
	float *w;			/* n */
	float *slot[OPTIMIZER_SLOTS];	/* n each */
	const loose_float *sum;		/* n: gradients, clipped */
	float examples;			/* that the gradients are sums over */
	size_t n;
	float learning_rate;
	uint64_t t;			/* updates of this variable, this one
					   included: 1 at the first */
};

/*
 * Read an optimizer by its name ("adam") and the settings of s that it uses,
 * which it takes from s.  Return 0; or -1 with FAIL_CONFIG, and leave the
 * optimizer as it was.
 */
int optimizer_parse(struct optimizer *, const char *name, struct settings *s,
		    struct fail *);
/*
 * Make an optimizer for a variable that is a moving average: its "gradient" is
 * a value x, and w = momentum w + (1 - momentum) x, whatever the learning rate.
 */
void optimizer_average(struct optimizer *, float momentum);

/*
 * Return whether an optimizer can resume with the slots and the number of
 * updates of another one.  It can if both use the same formula (adam and adamw
 * do); a slot that the other one did not have begins with its first value.  A
 * slot of the same name but of another formula is of no use.
 */
bool optimizer_can_resume(const struct optimizer *,
			  const struct optimizer *was);

/* Return the name of the kind, a constant. */
const char *optimizer_name(const struct optimizer *);

/* Change w and the slots by one update. */
void optimizer_apply(const struct optimizer *, const struct update *);

#endif
