/*
 * snapshots - the snapshots that a coordinator has a server hold, and the jobs
 * that save them to files or load a checkpoint.
 *
 * A snapshot has a number, which the coordinator chose, and contains all steps
 * below a step.  All snapshots are of one shard, and must be freed before it.
 * Jobs are done in the order in which they came.
 */
#ifndef PS_SNAPSHOTS_H
#define PS_SNAPSHOTS_H

#include "server/server.h"
#include "shard/shard.h"

struct snapshots;

struct snapshots *snapshots_new(void);
void snapshots_free(struct snapshots *);

/* The run is forgotten: drop all snapshots and all jobs. */
void snapshots_forget(struct snapshots *);
/* Drop the snapshots that the coordinator of an earlier term asked for; one
   that is being saved is dropped when that job ends. */
void snapshots_let_go(struct snapshots *);

/*
 * Hold a snapshot of what all steps below this one make; 0 as well if the
 * number is held already.  high is the server's high watermark.  FAIL_AGAIN:
 * MAX_SNAPSHOTS are held, or a step at or above this one was applied.
 */
int snapshots_freeze(struct snapshots *, struct shard *, uint64_t number,
		     uint64_t step, uint64_t high, struct fail *);
/* Drop a snapshot; 0 as well if it is not held.  FAIL_AGAIN: it is being
   saved. */
int snapshots_thaw(struct snapshots *, uint64_t number, struct fail *);
/* The snapshot of this number; NULL: it is not held. */
const struct shard_snapshot *snapshots_find(const struct snapshots *,
					    uint64_t number);

/* Queue a SAVE or LOAD, which is answered when it is done.  FAIL_PROTOCOL: a
   bad name, or no such snapshot; FAIL_AGAIN: the queue is full, or a reset is
   queued, which frees the shard. */
int snapshots_add_job(struct snapshots *, uint64_t peer,
		      const struct message *, struct fail *);
/* Copy the next job, which stays in the queue.  false: there is none. */
bool snapshots_next_job(const struct snapshots *, struct server_job *);
bool snapshots_have_jobs(const struct snapshots *);
/* Is a LOAD queued? */
bool snapshots_loading(const struct snapshots *);
/* The job was done: take it out of the queue.  Nothing happens if its run was
   forgotten meanwhile. */
void snapshots_end_job(struct snapshots *, const struct server_job *);

/*
 * Take out the next job if it is a reset: a LOAD without a name, back to the
 * initial values, which needs no file.  A reset waits for its turn in the
 * queue, because earlier jobs save snapshots of the shard that it frees.
 */
bool snapshots_take_reset(struct snapshots *, struct server_job *);

/* For tests: NULL, or the invariant that is broken. */
const char *snapshots_check(const struct snapshots *);

#endif
