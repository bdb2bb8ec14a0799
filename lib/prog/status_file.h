/*
 * status_file - the state of a run, in a file for whoever wants to know it.
 *
 * It is written about once a second, each time whole, in a thread of its own,
 * so that no step waits for a disk, and once more at the end.  That it cannot
 * be is a warning, and it is tried again.
 */
#ifndef PS_STATUS_FILE_H
#define PS_STATUS_FILE_H

#include "coord/coord.h"
#include "sys/task.h"

struct status_file {
	const char *path;	/* borrowed; NULL: there is none */
	struct task *task;	/* writes: */
	struct text text;
	int status;
	struct fail why;
	bool failing;		/* that has been told */
	uint64_t next_ms;	/* not before */
	double zero;		/* the unix time at 0 of our clock */
};

/* Can there be one?  If not, FAIL_CREATE. */
int status_file_begin(struct status_file *, const char *path, struct fail *);

/* Call it often. */
void status_file_keep(struct status_file *, const struct coord *,
		      uint64_t now_ms);

/* As it is in the end. */
void status_file_end(struct status_file *, const struct coord *,
		     uint64_t now_ms);

#endif
