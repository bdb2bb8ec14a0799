/*
 * loss - how far a prediction is from its label: a table.
 *
 * Names and formulas are Keras's.  What an example loses does not depend on
 * the others that it is given with.
 */
#ifndef PS_LOSS_H
#define PS_LOSS_H

#include "base/fail.h"
#include "base/settings.h"

#include <stdbool.h>
#include <stddef.h>

struct loss;

struct loss_kind {
	const char *name;
	const char *link;	/* the activation it undoes to be exact, and
				   that makes predictions of logits; or NULL */
	bool classes;		/* one number for each class; else one */
	bool two_sided;		/* labels must be 0 or 1 */
	bool smoothed;		/* label_smoothing= is a setting of it, */
	bool bounded;		/* delta= is one */
	float threshold;	/* what tells 0 from 1 in a prediction */
	/* Of n examples, width numbers of x and one label each. */
	void (*value)(const struct loss *, double *restrict value,
		      const float *restrict x, size_t width,
		      const float *restrict label, size_t n);
	/* Add the derivatives by x to dx. */
	void (*gradient)(const struct loss *, float *restrict dx,
			 const float *restrict x, size_t width,
			 const float *restrict label, size_t n);
};

/* The "loss" line of a model. */
struct loss {
	const struct loss_kind *kind;
	bool logits;		/* x is what the link is applied to */
	float label_smoothing;
	float delta;
};

/* By name and settings (from_logits=, label_smoothing=, delta=), or -1. */
int loss_parse(struct loss *, const char *name, struct settings *,
	       struct fail *);

/*
 * The sum of what n examples lose, one after the other, each times its weight
 * (NULL: all are 1).
 */
double loss_sum(const struct loss *, const float *x, size_t width,
		const float *label, const float *weight, size_t n);

/* Set dx, n x width, to the derivatives of that by x. */
void loss_slopes(const struct loss *, float *dx, const float *x, size_t width,
		 const float *label, const float *weight, size_t n);

#endif
