/*
 * bad - malformed records that are passed over, if there are not too many.
 */
#ifndef PS_BAD_H
#define PS_BAD_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: none is. */
struct bad {
	uint64_t most;		/* that may be in a pass */
	uint64_t count;		/* in this one, for the caller to begin anew */
	uint64_t all;
};

/*
 * Reading failed: was it for a record that may be passed over?  It is counted,
 * and a warning says what is wrong with it, for the first of them; then one
 * says how many there are, ever more seldom.  false: the failure stands, and
 * says how many were before it.
 */
bool bad_pass(struct bad *, struct fail *);

/*
 * Will what is wrong with the next one be read by anybody?  Where it stands
 * can take as long to find out as the file takes to read.  looked: the record
 * is read, and not just counted.  Of NULL, none may be passed over.
 */
bool bad_told(const struct bad *, bool looked);

/* May any be passed over? */
bool bad_any(const struct bad *);

/* There will be no more: how many were there, if there were any? */
void bad_end(const struct bad *);

#endif
