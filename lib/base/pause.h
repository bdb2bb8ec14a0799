/*
 * pause - a time in which a program did not run itself.
 *
 * It was stopped, its machine slept, or it waited for a disk.  Whoever was to
 * be heard meanwhile has not been silent.
 */
#ifndef PS_PAUSE_H
#define PS_PAUSE_H

#include <stdint.h>

/*
 * It is called now, and was last at *ticked (0: never), which is set: the
 * milliseconds since then if they are a pause, a second and half a lease at
 * least; else 0.
 */
uint64_t pause_since(uint64_t *ticked, uint64_t now, uint64_t lease_ms);

/* From when what has been so since then counts, if a pause has just ended. */
uint64_t pause_excuse(uint64_t since, uint64_t now, uint64_t pause);

#endif
