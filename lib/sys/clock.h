/*
 * clock - time that only goes forward, and numbers that never come back.
 */
#ifndef PS_CLOCK_H
#define PS_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);	/* since some moment; CLOCK_MONOTONIC */
uint64_t clock_us(void);

/* From the system: for ids.  Never 0. */
uint64_t clock_random(void);

#endif
