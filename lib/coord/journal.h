/*
 * journal - what a coordinator that is started again must know.
 *
 * The coordinator decides what is written, and when it must be safe on disk
 * before the coordinator acts; its program (prog/journal_file) decides where.
 * These are the records, which are sequences of MessagePack numbers and byte
 * strings:
 *
 *	RUN	run, model, plan, seed, servers, base of the run
 *	TERM	a term began: safe before the term is in any message
 *	LINES	requests that were taken, and the number of the last line:
 *		safe before one of their steps is leased; they reserve the
 *		numbers of their steps
 *	ENDS	what ended, in order, or that the run is ending; written when
 *		its results are, and all answers to lines before it, and before
 *		a step behind a barrier that was passed is leased; safe before
 *		that if an evaluation in the background has ended.  With --queue
 *		also the submitters: who they are, what they asked, whose turn
 *		it was, their results and which of these they have received.
 *		That is safe before a step of the turn is leased, and before a
 *		submitter is sent a result or the number of accepted requests.
 *		LINES is not written then
 *	VOID	steps are being given up: safe before a server is sent VOID
 *	SERVERS	for each server: its endpoint and a second one where it may be,
 *		its life if it has its variables, the last term whose plan it
 *		took, its standby, and the steps that it lacks: safe before a
 *		plan is sent, and before workers are sent the plan
 *	CUT	a checkpoint was published
 *	COUNTS	the records of each split, and where the samplers begin: safe
 *		before a step is leased
 *	STREAMS	for each data set the epochs that have begun, and the streams of
 *		the newest: safe before one of its steps is leased
 *	FOLD	written when a checkpoint's last step was given out: other
 *		records with the state of the run when all steps up to that
 *		one have ended; empty if records cannot describe that state.
 *		Once the checkpoint is published the file may begin with its
 *		FOLD, in place of all records before; CUT or FOLDED follows, or
 *		the file was cut short.  Anywhere else in the file a FOLD is
 *		ignored
 *	ERROR	in a FOLD: the error of a step, which no join has repeated yet
 *	FINISHED	the run has ended; it has this number in all versions
 *	HISTORY	in a FOLD of a run without checkpoints: the terms of the steps
 *		up to it, for a server that has lost them
 *	FOLDED	the steps of the last FOLD have ended: the records before that
 *		are not needed
 *	PART	some of the bytes of a record that is too large for one record
 *		of the file: the program splits it and joins the parts
 */
#ifndef PS_JOURNAL_H
#define PS_JOURNAL_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_VERSION	12	/* the first number of RUN, in any version */

enum journal_kind {
	JOURNAL_RUN = 1, JOURNAL_TERM, JOURNAL_LINES, JOURNAL_ENDS,
	JOURNAL_VOID, JOURNAL_SERVERS, JOURNAL_CUT, JOURNAL_FINISHED,
	JOURNAL_COUNTS, JOURNAL_STREAMS, JOURNAL_FOLD, JOURNAL_ERROR,
	JOURNAL_PART, JOURNAL_HISTORY, JOURNAL_FOLDED,
	JOURNAL_KINDS
};

/* Where records go. */
struct journal {
	/* Writes a record to the file; if safe, returns when that and all
	   records before are on disk.  -1: it could not be written. */
	int (*add)(void *to, uint32_t kind, const void *, size_t, bool safe,
		   struct fail *);
	void *to;
	bool whole;	/* the input with the requests can be read again from
			   its first line */
};

#endif
