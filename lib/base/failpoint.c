#include "base/failpoint.h"

#ifdef PS_DEV

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_POINTS	16

/* How often the line of each entry of PS_FAIL was reached. */
static atomic_ulong met[MAX_POINTS];

static int
run_action(const char *action, const char *name, struct fail *f)
{
	const struct timespec second = { .tv_sec = 1 };

	if (strncmp(action, "kill", 4) == 0)
		raise(SIGKILL);
	else if (strncmp(action, "exit", 4) == 0)
		_exit(FAIL_INTERNAL);
	else if (strncmp(action, "abort", 5) == 0)
		abort();
	else if (strncmp(action, "stop", 4) == 0)
		raise(SIGSTOP);
	else if (strncmp(action, "sleep", 5) == 0)
		nanosleep(&second, NULL);
	else if (strncmp(action, "error", 5) == 0)
		return fail(f, FAIL_IO, "failpoint %s", name);
	return 0;
}

int
failpoint(const char *name, struct fail *f)
{
	const char *at = getenv("PS_FAIL");
	const size_t n = strlen(name);
	char *end;

	for (size_t i = 0; at && i < MAX_POINTS; i++) {
		if (strncmp(at, name, n) == 0 && at[n] == ':') {
			const unsigned long count = strtoul(at + n + 1, &end,
							    10);
			const unsigned long now = ++met[i];

			if (*end == ':' && (count == 0 || count == now) &&
			    run_action(end + 1, name, f) < 0)
				return -1;
		}
		at = strchr(at, ',');
		if (at)
			at++;
	}
	return 0;
}

#endif
