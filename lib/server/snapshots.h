/*
 * snapshots - what a coordinator has a server hold as it was below a step, and
 * the work on files that saves one, or loads what was saved.
 *
 * Snapshots have numbers, and are of one shard, before which they are to be
 * freed.  Jobs are done in the order in which they came.
 */
#ifndef PS_SNAPSHOTS_H
#define PS_SNAPSHOTS_H

#include "server/server.h"
#include "shard/shard.h"

struct snapshots;

struct snapshots *snapshots_new(void);
void snapshots_free(struct snapshots *);

/* The run is forgotten, and all jobs with it. */
void snapshots_forget(struct snapshots *);
/* What the coordinator of an earlier term had us hold goes, when it is saved
   if it is being saved. */
void snapshots_let_go(struct snapshots *);

/*
 * Hold what the steps below this one make, unless the number is known.  -1:
 * there are too many, or steps up to high - 1 are in the shard already.
 */
int snapshots_freeze(struct snapshots *, struct shard *, uint64_t number,
		     uint64_t step, uint64_t high, struct fail *);
int snapshots_thaw(struct snapshots *, uint64_t number, struct fail *);
const struct shard_snapshot *snapshots_find(const struct snapshots *,
					    uint64_t number);

/* A SAVE or LOAD, to be answered when it is done. */
int snapshots_add_job(struct snapshots *, uint64_t peer,
		      const struct message *, struct fail *);
bool snapshots_next_job(const struct snapshots *, struct server_job *);
bool snapshots_have_jobs(const struct snapshots *);
bool snapshots_loading(const struct snapshots *);
/* It was done, unless it was of a run that was forgotten. */
void snapshots_end_job(struct snapshots *, const struct server_job *);

/*
 * Take the next job if it is a LOAD without a name, back to the initial
 * values, which is no work on files.  It has its turn: what is being saved is
 * of the shard that goes.
 */
bool snapshots_take_reset(struct snapshots *, struct server_job *);

/* For tests: NULL, or what does not hold. */
const char *snapshots_check(const struct snapshots *);

#endif
