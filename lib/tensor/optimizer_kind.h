/*
 * optimizer_kind - what an optimizer is made of; for optimizer*.c only.
 *
 * A new one is a file with a kernel and a table, and a line in optimizer.c.
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
	const char *key, *alias;	/* alias: another name, or NULL */
	enum hyper_range range;
	double start;			/* when it is not said */
};

struct optimizer_kind {
	const char *name;
	float learning_rate, weight_decay;	/* when they are not said */
	struct hyper hyper[OPTIMIZER_HYPER];	/* of optimizer.hyper[], in
						   its order */
	/* Add the slots that these hyper parameters ask for. */
	void (*prepare)(struct optimizer *);
	void (*apply)(const struct optimizer *, const struct update *);
};

/*
 * What all kernels need of an update.  They divide gradients and let weights
 * decay where they read them: a pass by itself would halt the streams from
 * memory.
 */
struct step {
	const loose_float *sum;		/* n: gradients */
	size_t n;
	float examples;			/* that they are sums over */
	float share;			/* 1 / examples, if a product with it
					   is the same to the bit; or 0 */
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

/* A division takes as long as the roots that other numbers wait for; compilers
   make two loops of this. */
static inline float
mean_at(struct step s, size_t i)
{
	return s.share > 0 ? s.sum[i] * s.share : s.sum[i] / s.examples;
}

/*
 * Loshchilov and Hutter, "Decoupled weight decay regularization" (2019): what
 * is left of a weight before the optimizer changes it.
 */
static inline float
decayed(float w, struct step s)
{
	return w - w * s.weight_decay * s.rate;
}

/* By squaring: pow()'s last bit is not the same on every processor. */
static inline double
optimizer_power(double x, uint64_t n)
{
	double result = 1;

	for (; n > 0; n >>= 1, x *= x)
		if (n & 1)
			result *= x;
	return result;
}

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
