/*
 * status_file - the state of a run, in a file for other programs.
 *
 * The file is replaced about once a second, in a thread, so that no step waits
 * for a disk, and once more at the end.  A failure is a warning, and the next
 * write tries again.
 */
#ifndef PS_STATUS_FILE_H
#define PS_STATUS_FILE_H

#include "coord/coord.h"
#include "sys/task.h"

struct status_file {
	const char *path;	/* borrowed; NULL: no file */
	struct task *task;	/* its thread writes the text */
	struct text text;
	int status;
	struct fail why;
	bool failing;		/* the failure was reported */
	uint64_t next_ms;	/* time of the next write, at the earliest */
	double zero;		/* Unix time, in s, at 0 of our clock */
};

/*
 * Check that the file can be made; NULL: no file.  Return 0; or -1 with
 * FAIL_CREATE.
 */
int status_file_begin(struct status_file *, const char *path, struct fail *);

/* Write the state if it is time to; to be called often. */
void status_file_keep(struct status_file *, const struct coord *,
		      uint64_t now_ms);

/* Write the last state, and release the memory. */
void status_file_end(struct status_file *, const struct coord *,
		     uint64_t now_ms);

#endif
