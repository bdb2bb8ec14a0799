/*
 * cores - how many CPUs a program may use at once.
 */
#ifndef PS_CORES_H
#define PS_CORES_H

#include <stddef.h>

/*
 * Return the number of CPUs in the affinity mask of this program, or the CPU
 * quota of its control groups, rounded up, if that is less; at least 1.
 */
size_t cores_granted(void);

#endif
