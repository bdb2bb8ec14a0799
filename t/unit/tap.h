/*
 * tap - the smallest test harness: one line for each check, and a plan.
 */
#ifndef PS_TAP_H
#define PS_TAP_H

#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failed;

#define ok(claim)	tap_ok(claim, #claim, __FILE__, __LINE__)
/* The same under a name of its own, for a list that is kept elsewhere. */
#define named(claim, name)	tap_ok(claim, name, __FILE__, __LINE__)

static inline void
tap_ok(bool holds, const char *claim, const char *file, int line)
{
	printf("%sok %d - %s\n", holds ? "" : "not ", ++tap_count, claim);
	if (!holds) {
		printf("# at %s:%d\n", file, line);
		tap_failed++;
	}
}

/* One that cannot be made here, and why. */
static inline void
tap_skip(const char *why)
{
	printf("ok %d # SKIP %s\n", ++tap_count, why);
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

#endif
