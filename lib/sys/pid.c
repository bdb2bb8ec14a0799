#include "sys/pid.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t remembered;

/* This replaces the C library's function, also in the shared libraries. */
pid_t
getpid(void)
{
	return remembered ? remembered : (pid_t)syscall(SYS_getpid);
}

static void
forget(void)
{
	remembered = 0;
}

void
pid_remember(void)
{
	static bool forgets;

	if (!forgets)
		forgets = pthread_atfork(NULL, NULL, forget) == 0;
	if (forgets)
		remembered = (pid_t)syscall(SYS_getpid);
}
