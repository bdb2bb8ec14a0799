/*
 * memory - the memory that this program can have, and the return of free
 * memory to the system.
 */
#ifndef PS_MEMORY_H
#define PS_MEMORY_H

#include <stdint.h>

/*
 * Return the bytes of the machine's memory and swap, or the least limit of this
 * process (ulimit -v, -d) or of its control groups (containers, Slurm), if that
 * is lower.  Memory that other programs use is not subtracted.  0: not known.
 */
uint64_t memory_limit(void);

/*
 * Return free memory to the system, if it is more than 8 MiB and more than a
 * quarter of the memory in use.  Programs call it now and then: malloc() would
 * keep for ever what a burst took, for example changes that waited for a
 * standby.
 */
void memory_trim(void);

#endif
