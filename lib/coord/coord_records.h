/*
 * coord_records - the records that are of the whole run.
 */
#ifndef PS_COORD_RECORDS_H
#define PS_COORD_RECORDS_H

#include "coord/coord_private.h"

/* What a run that goes on with another one has in common with it. */
void records_pack_run(struct pack *, const struct coord *);
void records_begin(struct coord *);
/*
 * The results of what ended have been written, so many bytes in all: it is
 * time to note that, if a checkpoint waits, which is whole, or a step behind a
 * barrier: true: what waited can go on.
 */
bool records_ends(struct coord *, uint64_t written, bool now_or_never,
		  bool whole, uint64_t now_ms);
/* With many submitters: what they wait for is in the journal, unless that
   failed; was there any? */
bool records_commit(struct coord *, uint64_t now_ms);
/* All steps below this one have a number, and none above: a fold for the
   checkpoint of them.  stops: the last request asked for that. */
void records_fold(struct coord *, uint64_t step, bool stops);
/* The journal has become long, and no checkpoint will shorten it: a fold of all
   that was asked; that counts when its steps have ended. */
void records_shorten(struct coord *, bool stops);
void records_finished(struct coord *);

#endif
