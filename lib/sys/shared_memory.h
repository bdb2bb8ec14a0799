/*
 * shared_memory - memory that we share with a program that we start; the
 * program inherits its descriptor.
 *
 * The size of the file is fixed, 2^40 bytes; memory is only allocated as places
 * are taken.  The file is sealed, so that the program can neither truncate it,
 * which would kill us by SIGBUS, nor make it grow, nor seal it against us.  The
 * program may change the bytes at any moment, so copy them, and check the copy.
 */
#ifndef PS_SHARED_MEMORY_H
#define PS_SHARED_MEMORY_H

#include "base/fail.h"

#include <stddef.h>

#define SHARED_ALIGN	64	/* bytes: alignment of each place */

struct shared_memory;

/* Return NULL if the system gives us no such memory. */
struct shared_memory *shared_memory_new(void);
void shared_memory_free(struct shared_memory *);

/* Return the descriptor for the program; it stays ours to close. */
int shared_memory_file(const struct shared_memory *);

/*
 * Allocate a new place of that many bytes, after all others; *offset is its
 * offset in the file.  Return 0, or -1 (FAIL_AGAIN) if there is no memory.
 */
int shared_memory_take(struct shared_memory *, size_t bytes, size_t *offset,
		       struct fail *);

/* Return the address of a place, good until the next one is taken. */
void *shared_memory_at(const struct shared_memory *, size_t offset);

/* Return the offset of the end of the last place. */
size_t shared_memory_used(const struct shared_memory *);

#endif
