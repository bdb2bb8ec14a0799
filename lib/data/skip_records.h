/*
 * skip_records - skips malformed records, up to a limit (--max-bad).
 */
#ifndef PS_SKIP_RECORDS_H
#define PS_SKIP_RECORDS_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

/* A zeroed struct, or NULL where that is allowed, skips none. */
struct skip_records {
	uint64_t most;		/* records that may be skipped in a pass */
	uint64_t count;		/* skipped in this pass; the caller sets it to
				   0 when a pass begins */
	uint64_t all;		/* skipped in all passes */
};

/*
 * Decide if reading may resume after a failure.  true: it is that of one
 * malformed record, which is now counted as skipped.  A warning has the text of
 * each of the first 10; from then on one has the number of all, at 100, 1000
 * and so on.  false: the failure stands; if the limit is reached, its text now
 * has the number of records that were skipped before it.
 */
bool skip_records_pass(struct skip_records *, struct fail *);

/*
 * Will the text of the next failure be shown?  If not, its place need not be
 * found out, which can take as long as reading the file (see lines_fail()).
 * looked: the record is read, not only counted.  NULL is allowed.
 */
bool skip_records_reports(const struct skip_records *, bool looked);

/* May any record be skipped?  NULL is allowed. */
bool skip_records_any(const struct skip_records *);

/* Warn, at the end of all passes, how many were skipped, if any were. */
void skip_records_end(const struct skip_records *);

#endif
