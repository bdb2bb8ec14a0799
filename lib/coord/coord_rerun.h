/*
 * coord_rerun - the steps that servers lack, and are given again.
 */
#ifndef PS_COORD_RERUN_H
#define PS_COORD_RERUN_H

#include "coord/coord_private.h"
#include "coord/rerun_set.h"

void rerun_init(struct coord *);
void rerun_release(struct coord *);
/* The steps from this one on have just been numbered: what they are.  False:
   that cannot be kept, or a server has other ones, and the run ends. */
bool rerun_record(struct coord *, uint64_t first);
/* It is run again for nobody; nor is any below this one, by a checkpoint,
   unless a server lacks some. */
void rerun_void(struct coord *, uint64_t step);
void rerun_forget(struct coord *, uint64_t step);
/*
 * What a server lacks is run again for it, if it goes back to this step
 * without its variables.  How many steps are that, besides those that were to
 * be anyway?
 */
uint64_t rerun_fill(struct coord *, size_t server, uint64_t back);
/* Of rounds that have ended, and are not to be run again anyway. */
bool rerun_lacks_rounds(const struct coord *, size_t server);
bool rerun_idle(const struct coord *);		/* no server lacks a step */
bool rerun_running(const struct coord *);	/* one is being run again */
uint64_t rerun_steps(const struct coord *);	/* so many in all were to be */
/* All steps below this one are with that server, or void. */
uint64_t rerun_watermark(const struct coord *, size_t server);
/* A step to run again, and for whom: in rounds it is for all of them. */
bool rerun_lease(struct coord *, void *worker, struct lease_terms *,
		 uint64_t *server);
/* true: that server lacks nothing more. */
bool rerun_ended(struct coord *, size_t server, uint64_t step);
void rerun_return(struct coord *, const void *worker);
/*
 * A step that went well once fails when it is run again.  Others may have
 * data that are better, but not for ever.
 */
void rerun_failed(struct coord *, uint64_t step, uint64_t server,
		  const struct fail *);
const char *rerun_check(const struct coord *);
/* For invariants that are of others, too. */
const struct rerun_set *rerun_of(const struct coord *, size_t server);
/* What the steps since the checkpoint were, all below that one, which is the
   first number of the record. */
void rerun_write_history(struct coord *, uint64_t below);
int rerun_read_history(struct coord *, uint64_t below, struct unpack *);
void rerun_write(const struct coord *, size_t server, struct pack *);
void rerun_read(struct coord *, size_t server, struct unpack *);

#endif
