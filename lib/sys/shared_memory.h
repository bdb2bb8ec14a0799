/*
 * shared_memory - memory that we share with a program that we start, by a
 * descriptor that it is given.
 *
 * Its size is fixed and far larger than what is used: pages come as they are
 * taken.  It is sealed, so the program can neither cut it short, which would
 * be a SIGBUS of ours, nor make it grow, nor seal it against us.  What lies in
 * it may change at any moment: it is to be copied before it is checked.
 */
#ifndef PS_SHARED_MEMORY_H
#define PS_SHARED_MEMORY_H

#include "base/fail.h"

#include <stddef.h>

#define SHARED_ALIGN	64	/* bytes: of each place */

struct shared_memory;

/* NULL: the system gives us none. */
struct shared_memory *shared_memory_new(void);
void shared_memory_free(struct shared_memory *);

/* For the program; ours. */
int shared_memory_file(const struct shared_memory *);

/*
 * Take a new place of so many bytes, which there is memory for, behind all
 * others.  FAIL_AGAIN: there is none.
 */
int shared_memory_take(struct shared_memory *, size_t bytes, size_t *offset,
		       struct fail *);

/* That place, until the next one is taken. */
void *shared_memory_at(const struct shared_memory *, size_t offset);

/* All places are below. */
size_t shared_memory_used(const struct shared_memory *);

#endif
