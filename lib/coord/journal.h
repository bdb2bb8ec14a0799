/*
 * journal - what a coordinator that is started again must know.
 *
 * The coordinator says what is to be kept, and when it must be safe before it
 * goes on; where it is kept is its program's (prog/journal_file).  The records,
 * which are sequences of MessagePack numbers and byte strings:
 *
 *	RUN	run, model, plan, seed, servers, base of the run
 *	TERM	a term began: safe before anybody hears of it
 *	LINES	requests that were taken, and the number of the last line:
 *		safe before one of their steps is leased; they reserve the
 *		numbers of their steps
 *	ENDS	what ended, in order, or that the run is ending; written when
 *		its results are, and before a step behind a barrier that was
 *		passed is leased.  With many submitters, too: who they are,
 *		what they asked, whose turn it was, their results and which
 *		of these they have: safe before a step of that turn is
 *		leased, and before they hear that a request was taken, or
 *		get a result.  These take the place of LINES
 *	VOID	steps are being given up: safe before a server is told
 *	SERVERS	where each server is, or may be besides, its life if it has its
 *		variables, the last term that it took, its standby, and what
 *		it lacks: safe before a plan goes out, and before a worker
 *		hears of it
 *	CUT	a checkpoint was published
 *	COUNTS	the records of each split, and where the samplers begin: safe
 *		before a step is leased
 *	STREAMS	of each data set the epochs that have begun, and the streams of
 *		the newest: safe before one of its steps is leased
 *	FOLD	when a checkpoint's last step was given out: other records that
 *		say what all steps up to it come to when it is published;
 *		none if that cannot be said.  In a file that begins with one
 *		it stands for them, else it says nothing
 *	ERROR	in a FOLD: that of a step, which no join has told yet
 *	FINISHED	in any version of the journal, too
 *	HISTORY	in a FOLD of a run that makes no checkpoints: what the steps up
 *		to it were, for a server that has lost them
 *	FOLDED	they have ended: what lies before the last FOLD is not needed
 *	PART	some of the bytes of a record that is too large for one of the
 *		file: its program writes and joins them
 */
#ifndef PS_JOURNAL_H
#define PS_JOURNAL_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_VERSION	9	/* the first number of RUN, in any version */

enum journal_kind {
	JOURNAL_RUN = 1, JOURNAL_TERM, JOURNAL_LINES, JOURNAL_ENDS,
	JOURNAL_VOID, JOURNAL_SERVERS, JOURNAL_CUT, JOURNAL_FINISHED,
	JOURNAL_COUNTS, JOURNAL_STREAMS, JOURNAL_FOLD, JOURNAL_ERROR,
	JOURNAL_PART, JOURNAL_HISTORY, JOURNAL_FOLDED
};

/* Where records go. */
struct journal {
	/* In the file when it returns; if safe, on disk, with all before. */
	int (*add)(void *to, uint32_t kind, const void *, size_t, bool safe,
		   struct fail *);
	void *to;
	bool whole;	/* requests can be read again, from the first one */
};

#endif
