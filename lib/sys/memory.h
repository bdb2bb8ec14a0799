/*
 * memory - how much of it this program can have.
 */
#ifndef PS_MEMORY_H
#define PS_MEMORY_H

#include <stdint.h>

/*
 * Bytes: of the machine's memory and swap, as far as limits of this process
 * (ulimit -v) or of its control groups (containers, Slurm) let it.  What
 * others use of it does not count; 0 is not known.
 */
uint64_t memory_limit(void);

#endif
