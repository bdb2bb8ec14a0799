/*
 * grace - told to end, a program goes on for a while, for those who bring to
 * an end with it what they have in common.
 */
#ifndef PS_GRACE_H
#define PS_GRACE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct grace {
	uint64_t ms;		/* so long; 0: not at all */
	uint64_t until;		/* 0: it was not told yet */
};

/* It ends now: it was told to, and is not needed or has had its time. */
bool grace_over(struct grace *, bool needed);

/*
 * What wakes it up: a signal, until one has come; then a time, in
 * milliseconds, after which to look again.  -1: none.
 */
struct pollfd grace_fd(const struct grace *);
int grace_wait(const struct grace *);

#endif
