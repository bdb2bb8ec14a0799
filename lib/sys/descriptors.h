/*
 * descriptors - how many files and connections a process may have open.
 */
#ifndef PS_DESCRIPTORS_H
#define PS_DESCRIPTORS_H

#include <stddef.h>

/* As many as the system allows us; a million are enough.  How many. */
size_t descriptors_raise(void);

#endif
