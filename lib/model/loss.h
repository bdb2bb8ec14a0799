/*
 * loss - how far a prediction is from its label: a table of kinds.
 *
 * Names and formulas are Keras's.  The loss of an example does not depend on
 * the other examples of its batch.
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
	const char *link;	/* the activation whose input, the logits, it is
				   computed from to be exact, and that makes
				   predictions of logits; or NULL */
	bool classes;		/* x has one number for each class; else one
				   number */
	bool two_sided;		/* labels must be 0 or 1 */
	bool smoothed;		/* it has the setting label_smoothing= */
	bool bounded;		/* it has the setting delta= */
	float threshold;	/* a prediction above this stands for 1 */
	/*
	 * Set the loss of n examples, with width numbers of x and one label
	 * each.
	 */
	void (*value)(const struct loss *, double *restrict value,
		      const float *restrict x, size_t width,
		      const float *restrict label, size_t n);
	/* Add the derivatives with respect to x to dx[n * width]. */
	void (*gradient)(const struct loss *, float *restrict dx,
			 const float *restrict x, size_t width,
			 const float *restrict label, size_t n);
};

/* The "loss" line of a model. */
struct loss {
	const struct loss_kind *kind;
	bool logits;		/* x is the input of the link */
	float label_smoothing;
	float delta;
};

/*
 * Read a loss by its name and the settings from_logits=, label_smoothing= and
 * delta=, which are taken from s.  Return 0, or -1 with FAIL_CONFIG.
 */
int loss_parse(struct loss *, const char *name, struct settings *,
	       struct fail *);

/*
 * Return the sum of the loss of n examples, added up in their order, each times
 * its weight (NULL: 1).
 */
double loss_sum(const struct loss *, const float *x, size_t width,
		const float *label, const float *weight, size_t n);

/* Set dx[n * width] to the derivatives of that sum with respect to x. */
void loss_slopes(const struct loss *, float *dx, const float *x, size_t width,
		 const float *label, const float *weight, size_t n);

#endif
