/*
 * skip_records - malformed records that are passed over, if there are not too
 * many.
 */
#ifndef PS_SKIP_RECORDS_H
#define PS_SKIP_RECORDS_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: none is. */
struct skip_records {
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
bool skip_records_pass(struct skip_records *, struct fail *);

/*
 * Will what is wrong with the next one be read by anybody?  Where it stands
 * can take as long to find out as the file takes to read.  looked: the record
 * is read, and not just counted.  Of NULL, none may be passed over.
 */
bool skip_records_reports(const struct skip_records *, bool looked);

/* May any be passed over? */
bool skip_records_any(const struct skip_records *);

/* There will be no more: how many were there, if there were any? */
void skip_records_end(const struct skip_records *);

#endif
