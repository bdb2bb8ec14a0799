/*
 * failpoint - a place in the code where a test can make the program fail.
 *
 * Random faults miss narrow windows: between a decision and the moment when it
 * is safe on disk, or between that moment and the message about it.  A line in
 * such a window has a name:
 *
 *	if (r == 0)
 *		r = failpoint("disk-sync", f);
 *
 * With PS_FAIL=NAME:COUNT:ACTION[,...] in the environment the program does
 * ACTION when it reaches that line for the COUNT-th time, or each time if COUNT
 * is 0: kill (as by kill -9), exit (status 70, no cleanup), abort, stop (as by
 * SIGSTOP), sleep (one second), or error (return -1, FAIL_IO).
 *
 * Only a developer's build (configure --enable-dev) has failpoints.
 */
#ifndef PS_FAILPOINT_H
#define PS_FAILPOINT_H

#include "base/fail.h"

#ifdef PS_DEV
/* Return 0, or -1 if the action is error.  Any thread may call it. */
int failpoint(const char *name, struct fail *);
#else
#define failpoint(name, f)	((void)(f), 0)
#endif

#endif
