/*
 * rng - seeded random numbers, the same on every machine.
 *
 * rng_at() is a function, not a sequence: element i of a variable gets the
 * same initial value in any program, in any order and in any number of pieces.
 * struct rng is a sequence, for shuffling.
 */
#ifndef PS_RNG_H
#define PS_RNG_H

#include <stddef.h>
#include <stdint.h>

#define RNG_GOLDEN	0x9e3779b97f4a7c15u

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators". */
static inline uint64_t
rng_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/*
 * Return 64 random bits for (seed, stream, index): splitmix64's finalizer,
 * chained.  It is inline so that a loop over the indices of a stream computes
 * the part of seed and stream only once.
 */
static inline uint64_t
rng_at(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t z = rng_mix(seed + RNG_GOLDEN);

	z = rng_mix(z ^ (stream + RNG_GOLDEN));
	return rng_mix(z + (index + 1) * RNG_GOLDEN);
}

/* Return a number in [0, 1), with 53 random binary places. */
static inline double
rng_unit(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

struct rng {
	uint64_t seed, next;
};

uint64_t rng_next(struct rng *);	/* 64 random bits */
uint64_t rng_below(struct rng *, uint64_t n);	/* 0 to n - 1, each with the
						   same probability; n > 0 */

#endif
