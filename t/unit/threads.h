/*
 * threads - a process that can start no more threads.
 */
#ifndef PS_THREADS_H
#define PS_THREADS_H

#include "base/fail.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Lets the stack of each later thread be larger than any address. */
static inline void
threads_end(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)1 << 60);
	if (pthread_setattr_default_np(&attr) != 0)
		abort();
	pthread_attr_destroy(&attr);
}

/* Is this the failure of a thread that could not be started? */
static inline bool
threads_ended(const struct fail *f)
{
	return f->kind == FAIL_AGAIN &&
		strcmp(f->text, "cannot start a thread to read examples: "
		       "Resource temporarily unavailable (ulimit -u, "
		       "ulimit -v)") == 0;
}

#endif
