/*
 * failpoint - a place in the code where a test can have the program fail.
 *
 * Random faults miss narrow windows: between what is decided and what is
 * safe on disk, between that and who is told.  Each such line has a name:
 *
 *	if (r == 0)
 *		r = failpoint("disk-sync", f);
 *
 * and PS_FAIL=NAME:COUNT:ACTION[,...] in the environment does ACTION when it
 * is reached for the COUNT-th time: kill (as by kill -9), exit (70, without
 * tidying up), abort, stop (as by SIGSTOP), sleep (a second), or error, when
 * it returns -1 and FAIL_IO.  A name with a count of 0 acts each time.
 *
 * Only a developer's build (configure --enable-dev) has any of this.
 */
#ifndef PS_FAILPOINT_H
#define PS_FAILPOINT_H

#include "base/fail.h"

#ifdef PS_DEV
/* 0, unless the action is error.  May be called from any thread. */
int failpoint(const char *name, struct fail *);
#else
#define failpoint(name, f)	((void)(f), 0)
#endif

#endif
