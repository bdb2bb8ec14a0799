/*
 * scores - where the scores of checkpoints go: a stream, or a file that is
 * added to whenever the program is started again.
 *
 * The file itself is all that is remembered.  A line is added when its
 * checkpoint has been scored, and is safe before the next one is begun: what
 * has a whole line is done, and nothing else is.
 */
#ifndef PS_SCORES_H
#define PS_SCORES_H

#include "role/until.h"

#include <stdio.h>

struct scores {
	FILE *out;		/* borrowed, unless there is a path */
	const char *path;	/* NULL: a stream, of which nothing is known */
	bool begun;		/* there were lines before: */
	uint64_t step;		/* the highest that they name */
	bool final;		/* which was its run's last checkpoint */
	bool met;		/* one of them meets the condition */
};

/*
 * Open a file, made if it is not there, for nobody else (FAIL_AGAIN), learn
 * what it holds, and be ready to write to ->out.  The torn end of a line is
 * cut off; a file with lines of others is FAIL_DATA, and stays as it is.
 */
int scores_open(struct scores *, const char *path, const struct until *,
		struct fail *);
void scores_close(struct scores *);

/* Is this in the file already, or older than what is? */
bool scores_have(const struct scores *, uint64_t step);

/* See to it that what was written to ->out is there, and safe in a file. */
int scores_flush(const struct scores *, struct fail *);

#endif
