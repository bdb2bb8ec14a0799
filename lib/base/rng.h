/*
 * rng - seeded random numbers, the same on every machine.
 *
 * rng_at() is a function, not a sequence: element i of a variable gets the
 * same initial value whoever computes it, in any order and any number of
 * pieces.  struct rng is a sequence, for shuffling.
 */
#ifndef PS_RNG_H
#define PS_RNG_H

#include <stddef.h>
#include <stdint.h>

/* 64 random bits for (seed, stream, index): splitmix64's finalizer, chained. */
uint64_t rng_at(uint64_t seed, uint64_t stream, uint64_t index);

/* Bits as a number in [0, 1), of 53 binary places. */
double rng_unit(uint64_t bits);

struct rng {
	uint64_t seed, next;
};

uint64_t rng_next(struct rng *);
uint64_t rng_below(struct rng *, uint64_t n);	/* n > 0, without bias */

#endif
