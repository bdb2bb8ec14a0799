#include "base/rng.h"

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
