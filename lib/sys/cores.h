/*
 * cores - how many CPUs a program may use at once.
 */
#ifndef PS_CORES_H
#define PS_CORES_H

#include <stddef.h>

/* Those that it may run on, or as many as its control group grants of their
   time, if that is less; at least 1. */
size_t cores_granted(void);

#endif
