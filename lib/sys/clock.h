/*
 * clock - time that only goes forward, and numbers that never come back.
 */
#ifndef PS_CLOCK_H
#define PS_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);	/* since some moment; CLOCK_MONOTONIC */
uint64_t clock_us(void);

/*
 * A signal that comes again so soon is still the same request: timeout(1)
 * sends it to its child, and then to the group that the child is in.
 */
#define CLOCK_ONCE_MS	200

/* From the system: for ids.  Never 0. */
uint64_t clock_random(void);

#endif
