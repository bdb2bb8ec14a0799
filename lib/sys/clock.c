#include "sys/clock.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

uint64_t
clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

uint64_t
clock_random(void)
{
	uint64_t bits = 0;

	while (bits == 0)
		if (getrandom(&bits, sizeof(bits), 0) < 0)
			abort();	/* cannot fail for 256 bytes or less */
	return bits;
}
