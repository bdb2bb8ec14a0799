/*
 * descriptors - how many files and connections a process may have open.
 */
#ifndef PS_DESCRIPTORS_H
#define PS_DESCRIPTORS_H

#include <stddef.h>

/* Raise the limit of open files as far as the system allows, up to 2^20.
   Return the limit. */
size_t descriptors_raise(void);

#endif
