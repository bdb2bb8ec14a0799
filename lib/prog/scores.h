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

#include "base/text.h"
#include "client/stop_condition.h"

struct scores {
	int fd;			/* borrowed, unless there is a path */
	const char *path;	/* NULL: standard output, a stream */
	struct text text;	/* to be written */
	bool begun;		/* there were lines before: */
	uint64_t step;		/* the highest that they name */
	bool final;		/* which was its run's last checkpoint */
	bool lacks;		/* and has no such metric as is asked for */
	bool met;		/* one of them meets the condition */
};

/*
 * Open a file, made if it is not there, for nobody else (FAIL_AGAIN), and
 * learn what it holds.  The torn end of a line is cut off; a file with lines
 * of others is FAIL_DATA, and stays as it is.
 */
int scores_open(struct scores *, const char *path,
		const struct stop_condition *, struct fail *);
void scores_close(struct scores *);

/* Is this in the file already, or older than what is? */
bool scores_have(const struct scores *, uint64_t step);

/*
 * Write the text, and see to it that it is safe in a file.  It is an error to
 * be asked to stop while nobody takes it.
 */
int scores_flush(struct scores *, struct fail *);

#endif
