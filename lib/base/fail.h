/*
 * fail - reports an error once: a kind, and one line of text.
 *
 * A library function that can fail takes a struct fail as its last argument.
 * On failure the function fills the struct and returns -1 or NULL; it neither
 * prints nor exits, since only the program knows if the error is fatal.  On
 * success the struct is untouched, so one struct serves a chain of calls.
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
	FAIL_DATA = 65,		/* an input has wrong content */
	FAIL_NOINPUT = 66,	/* an input is missing, or used up */
	FAIL_PEER = 69,		/* a peer is missing or silent */
	FAIL_INTERNAL = 70,	/* a bug of ours */
	FAIL_MEMORY = 71,	/* there is no memory left */
	FAIL_CREATE = 73,	/* an output cannot be made */
	FAIL_IO = 74,		/* reading or writing broke off */
	FAIL_AGAIN = 75,	/* trying again later may help */
	FAIL_PROTOCOL = 76,	/* a peer sent what the protocol forbids */
	FAIL_DENIED = 77,	/* not permitted */
	FAIL_CONFIG = 78	/* model, cluster or settings are wrong */
};

struct fail {
	enum fail_kind kind;
	bool passable;		/* only one record of an input is bad: the
				   reader can resume after it */
	char text[512];		/* longer texts are cut off */
};

/*
 * Set the kind and the text.  All functions here return -1, so that "return
 * fail(...)" reports the error and leaves at once.
 */
int fail(struct fail *, enum fail_kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, with ": " and strerror(errno) after the text. */
int fail_sys(struct fail *, enum fail_kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Put "FORMAT: " in front of the text that is there, to name the place. */
int fail_at(struct fail *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Set passable. */
int fail_mark_skippable(struct fail *);

#endif
