/*
 * optimizer_kind - what an optimizer is made of; for optimizer*.c only.
 *
 * A new optimizer is a file with a kernel and a table, and a line in
 * optimizer.c.
 */
#ifndef PS_OPTIMIZER_KIND_H
#define PS_OPTIMIZER_KIND_H

#include "tensor/optimizer.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum hyper_range {
	HYPER_BOOL,
	HYPER_FRACTION,		/* 0 <= x < 1 */
	HYPER_POSITIVE,		/* 0 <= x */
	HYPER_NEGATIVE		/* x <= 0 */
};

struct hyper {
	const char *key, *alias;	/* alias: a second name, or NULL */
	enum hyper_range range;
	double start;			/* the default */
};

struct optimizer_kind {
	const char *name;
	float learning_rate, weight_decay;	/* the defaults */
	struct hyper hyper[OPTIMIZER_HYPER];	/* described in the order of
						   optimizer.hyper[] */
	/* Add the slots that the hyper parameters ask for. */
	void (*prepare)(struct optimizer *);
	/* Change w and the slots by one update; see struct update. */
	void (*apply)(const struct optimizer *, const struct update *);
};

/*
 * What all kernels need of an update.  A kernel divides the gradients and lets
 * the weights decay in the loop that reads them: separate passes would load
 * everything from memory twice.
 */
struct step {
	const loose_float *sum;		/* n: gradients */
	size_t n;
	float examples;			/* that sum[] is added up over */
	float share;			/* 1 / examples, if a product with it
					   has the same bits as the quotient
					   (powers of 2); else 0 */
	float rate, weight_decay;
};

static inline struct step
step_of(const struct optimizer *o, const struct update *u)
{
	int exponent;
	const bool exact = frexpf(u->examples, &exponent) == .5f;

	return (struct step){ u->sum, u->n, u->examples,
			      exact ? 1 / u->examples : 0, u->learning_rate,
			      o->weight_decay };
}

/*
 * Return element i of the mean gradient.  A product is used where it is exact,
 * because a division takes as long as the square roots that the kernels
 * compute; compilers make two loops of this condition.
 */
static inline float
mean_at(struct step s, size_t i)
{
	return s.share > 0 ? s.sum[i] * s.share : s.sum[i] / s.examples;
}

/*
 * Return a weight after its decay, before the optimizer changes it: Loshchilov
 * and Hutter, "Decoupled weight decay regularization" (2019).
 */
static inline float
decayed(float w, struct step s)
{
	return w - w * s.weight_decay * s.rate;
}

/*
 * Return x^n by repeated squaring: the last bit of pow() is not the same on
 * every processor.
 */
static inline double
optimizer_power(double x, uint64_t n)
{
	double result = 1;

	for (; n > 0; n >>= 1, x *= x)
		if (n & 1)
			result *= x;
	return result;
}

/* Add a slot with this name and first value; for prepare(). */
static inline void
optimizer_add_slot(struct optimizer *o, const char *name, double start)
{
	assert(o->slots < OPTIMIZER_SLOTS);
	o->slot_name[o->slots] = name;
	o->slot_start[o->slots++] = (float)start;
}

extern const struct optimizer_kind optimizer_adadelta;
extern const struct optimizer_kind optimizer_adagrad;
extern const struct optimizer_kind optimizer_adam;
extern const struct optimizer_kind optimizer_adamax;
extern const struct optimizer_kind optimizer_adamw;
extern const struct optimizer_kind optimizer_ftrl;
extern const struct optimizer_kind optimizer_lion;
extern const struct optimizer_kind optimizer_nadam;
extern const struct optimizer_kind optimizer_rmsprop;
extern const struct optimizer_kind optimizer_sgd;

#endif
