#include "base/rng.h"

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators". */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#define GOLDEN	0x9e3779b97f4a7c15u

uint64_t
rng_at(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t z = mix(seed + GOLDEN);

	z = mix(z ^ (stream + GOLDEN));
	return mix(z + (index + 1) * GOLDEN);
}

double
rng_unit(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

uint64_t
rng_next(struct rng *r)
{
	return rng_at(r->seed, 0, r->next++);
}

uint64_t
rng_below(struct rng *r, uint64_t n)
{
	const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
	uint64_t x;

	do {
		x = rng_next(r);
	} while (x >= limit);
	return x % n;
}
