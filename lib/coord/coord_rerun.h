/*
 * coord_rerun - the steps that servers lack, and that are run again for them.
 */
#ifndef PS_COORD_RERUN_H
#define PS_COORD_RERUN_H

#include "coord/coord_private.h"
#include "coord/rerun_set.h"

void rerun_init(struct coord *);
void rerun_release(struct coord *);
/* Records the terms of the steps from first on, which have just got their
   numbers.  false, and the run ends: the journal cannot be written, or a server
   has steps of an epoch that the journal, cut short, does not know. */
bool rerun_record(struct coord *, uint64_t first);
/* Notes that a step was given up, so that it is not run again. */
void rerun_void(struct coord *, uint64_t step);
/* Forgets the terms of all steps below this one, which a checkpoint has, unless
   a server lacks some. */
void rerun_forget(struct coord *, uint64_t step);
/*
 * Finds the steps that a server lacks, to be run again for it: by the state
 * that it reported, or if it lost its variables, all from the checkpoint's step
 * back on.  Returns the number of steps that were not to be run again before.
 */
uint64_t rerun_fill(struct coord *, size_t server, uint64_t back);
/* Does a server lack rounds that have ended, other than those that are to be
   run again for all servers? */
bool rerun_lacks_rounds(const struct coord *, size_t server);
bool rerun_idle(const struct coord *);		/* no server lacks a step */
bool rerun_running(const struct coord *);	/* one is being run again */
/* Counts the steps that were to be run again since the run began. */
uint64_t rerun_steps(const struct coord *);
/* Returns the low watermark of a server: it has all steps below, but those that
   were given up. */
uint64_t rerun_watermark(const struct coord *, size_t server);
/* Leases steps to be run again to a worker; *server is the server that lacks
   them.  In sync they are for all servers. */
bool rerun_lease(struct coord *, void *worker, struct lease_terms *,
		 uint64_t *server);
/* Notes that a step was run again; true: the server lacks no more steps. */
bool rerun_ended(struct coord *, size_t server, uint64_t step);
/* Takes back the steps that a worker (NULL: any) runs again. */
void rerun_return(struct coord *, const void *worker);
/*
 * Counts the failure of a step that had succeeded before and was run again.
 * Another worker may have better data, so it is tried again, but after five
 * failures the run ends.  server WIRE_NONE: in sync.
 */
void rerun_failed(struct coord *, uint64_t step, uint64_t server,
		  const struct fail *);
const char *rerun_check(const struct coord *);
/* For invariants that other parts check. */
const struct rerun_set *rerun_of(const struct coord *, size_t server);
/* Write the terms of the steps since the checkpoint, all below that step, and
   read them back.  The record HISTORY begins with below.  -1: it makes no
   sense. */
void rerun_write_history(struct coord *, uint64_t below);
int rerun_read_history(struct coord *, uint64_t below, struct unpack *);
/* Write the steps that a server lacks, and read them back. */
void rerun_write(const struct coord *, size_t server, struct pack *);
void rerun_read(struct coord *, size_t server, struct unpack *);

#endif
