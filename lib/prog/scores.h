/*
 * scores - where the scores of checkpoints go: a stream, or a file that is
 * continued when the program is started again.
 *
 * The file itself is the only state.  The line of a checkpoint is added once it
 * has been scored, and is on disk before the next one is begun.  So a
 * checkpoint with a complete line is done, and no other is.
 */
#ifndef PS_SCORES_H
#define PS_SCORES_H

#include "base/text.h"
#include "client/stop_condition.h"

struct scores {
	int fd;			/* borrowed if path is NULL */
	const char *path;	/* NULL: standard output, a stream */
	struct text text;	/* to be written */
	bool begun;		/* the file had lines */
	uint64_t step;		/* the highest step of its lines */
	bool final;		/* that line is of the run's last checkpoint */
	bool lacks;		/* that line lacks the metric of the
				   condition */
	bool met;		/* a line meets the condition */
};

/*
 * Open a file, locked (FAIL_AGAIN: another program has it) and made if it does
 * not exist, and read its lines.  An incomplete last line is cut off.  A file
 * with other lines is FAIL_DATA, and stays as it is.  Return 0, or -1 with the
 * reason.
 */
int scores_open(struct scores *, const char *path,
		const struct stop_condition *, struct fail *);
void scores_close(struct scores *);

/* Return whether the file has this step, or a later one. */
bool scores_have(const struct scores *, uint64_t step);

/*
 * Write the text, and wait until it is on disk, in a file.  Return -1 if that
 * fails, or if the program is told to stop while nobody reads the output.
 */
int scores_flush(struct scores *, struct fail *);

#endif
