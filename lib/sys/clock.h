/*
 * clock - time that never goes back, and random numbers for ids.
 */
#ifndef PS_CLOCK_H
#define PS_CLOCK_H

#include <stdint.h>

/* Return CLOCK_MONOTONIC, in milliseconds or microseconds. */
uint64_t clock_ms(void);
uint64_t clock_us(void);

/*
 * A signal that comes again within this time is still the same request:
 * timeout(1) sends a signal to its child, and then to the group of the child.
 */
#define CLOCK_ONCE_MS	200

/* Return 64 random bits of the system, not all 0. */
uint64_t clock_random(void);

#endif
