/*
 * fail - say what went wrong, once, in words.
 *
 * A library function that can fail takes a struct fail as its last argument.
 * It fills it, returns -1 or NULL, and neither prints nor exits: only the
 * program knows whether the trouble is fatal.  On success it is untouched, so
 * one struct serves a whole chain of calls.
 *
 *	if (!file)
 *		return fail_sys(f, FAIL_NOINPUT, "cannot open %s", path);
 *	if (version != 1)
 *		return fail(f, FAIL_DATA, "%s: unknown version", path);
 */
#ifndef PS_FAIL_H
#define PS_FAIL_H

#include <stdbool.h>

/* The kinds are the exit statuses of sysexits.h. */
enum fail_kind {
	FAIL_USAGE = 64,	/* the command line makes no sense */
	FAIL_DATA = 65,		/* what we were given to read is wrong */
	FAIL_NOINPUT = 66,	/* an input is missing, or used up */
	FAIL_PEER = 69,		/* a peer is missing or silent */
	FAIL_INTERNAL = 70,	/* we are wrong */
	FAIL_MEMORY = 71,	/* there is none left */
	FAIL_CREATE = 73,	/* an output cannot be made */
	FAIL_IO = 74,		/* reading or writing broke off */
	FAIL_AGAIN = 75,	/* trying again later may help */
	FAIL_PROTOCOL = 76,	/* a peer said what it must not */
	FAIL_DENIED = 77,	/* not permitted */
	FAIL_CONFIG = 78	/* model, cluster or settings are wrong */
};

struct fail {
	enum fail_kind kind;
	bool passable;		/* it is of one record of an input: who reads
				   it can go on behind that */
	char text[512];
};

/* All return -1, so that "return fail(...)" reports and leaves at once. */
int fail(struct fail *, enum fail_kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, with strerror(errno) behind it. */
int fail_sys(struct fail *, enum fail_kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Put "format: " before the text that is there, to name where it was. */
int fail_at(struct fail *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* It is passable. */
int fail_mark_skippable(struct fail *);

#endif
