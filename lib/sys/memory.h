/*
 * memory - how much of it this program can have, and giving back the rest.
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

/*
 * To be called now and then: what was freed, and is a good part of all that we
 * hold, goes back to the system.  What a burst took, as of changes that waited
 * for a standby, would else stay ours for good, and each larger one add to it.
 */
void memory_give_back(void);

#endif
