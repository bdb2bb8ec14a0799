/*
 * coord_records - the records that are of the whole run.
 */
#ifndef PS_COORD_RECORDS_H
#define PS_COORD_RECORDS_H

#include "coord/coord_private.h"

/* Appends the part of RUN in which a resumed run must equal the one that the
   journal is of. */
void records_pack_run(struct pack *, const struct coord *);
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
