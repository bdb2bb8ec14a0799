/*
 * coord_records - the records that are of the whole run.
 */
#ifndef PS_COORD_RECORDS_H
#define PS_COORD_RECORDS_H

#include "coord/coord_private.h"

/* The facts of RUN in which a resumed run must equal the one that the journal
   is of.  The plan depends on others, and comes last. */
enum run_fact {
	RUN_MODEL, RUN_SEED, RUN_SERVERS, RUN_BATCHES, RUN_SYNC, RUN_DATA,
	RUN_QUEUE, RUN_PLAN, RUN_FACTS
};
void records_facts(const struct coord *, uint64_t fact[RUN_FACTS]);
/* Writes RUN, at the beginning of a new journal. */
void records_begin(struct coord *);
/*
 * Writes ENDS, if it is time to: when the last was long ago, a checkpoint waits
 * for it (whole: its steps have ended), a step behind a barrier waits for it,
 * or with now_or_never.  written: all bytes of results that the program has
 * written so far.  true: something that waited can go on.
 */
bool records_ends(struct coord *, uint64_t written, bool now_or_never,
		  bool whole, uint64_t now_ms);
/* With --queue: writes what submitters wait for, safe on disk.  true: there was
   anything (journal_lost(): it could not be written). */
bool records_commit(struct coord *, uint64_t now_ms);
/* Writes the FOLD for the checkpoint of all steps below this one; they have
   numbers, and no step above has one.  stops: the last request was stop. */
void records_fold(struct coord *, uint64_t step, bool stops);
/* Writes a FOLD of all that was asked, when the journal has become long and no
   checkpoint will shorten it.  It counts when its steps have ended. */
void records_shorten(struct coord *, bool stops);
/* Writes FINISHED, with the status of the run. */
void records_finished(struct coord *);

#endif
