/*
 * checkpoint_publisher - the coordinator's work on checkpoints: which to
 * restore, and publishing what the servers have written.
 *
 * It publishes, and removes what is too old, in a thread of its own, while the
 * coordinator goes on: nobody waits for a slow disk who need not.
 */
#ifndef PS_CHECKPOINT_PUBLISHER_H
#define PS_CHECKPOINT_PUBLISHER_H

#include "coord/coord.h"
#include "sys/task.h"

struct checkpoint_publisher {
	const char *dir;	/* NULL: no checkpoints */
	uint64_t keep;		/* the newest so many; 0: all */
	bool as_is;		/* rows may stand for other things now */
	char ahead[CHECKPOINT_NAME];	/* the newest, if it is of a later
				   step than what is restored; or "" */

	struct task *task;	/* publishes: */
	const struct coord_job *job;
	const struct model_source *source;
	struct fail why, why_not_pruned;
	int status;
};

/*
 * Can checkpoints be kept here?  What is to be restored: "latest" (nothing,
 * if there is none yet), "none", or a path.  Fills o->checkpoint, restore,
 * restored (free its sampler); a checkpoint of another model is FAIL_DATA.
 */
int publisher_begin(struct checkpoint_publisher *, const char *restore,
		    const struct model *, struct coord_options *o,
		    struct fail *);
void publisher_release(struct checkpoint_publisher *);	/* waits for what it
							   publishes */

/* Nor is it what was asked for if a run that broke off, with that journal,
   goes on; NULL: there is none. */
void publisher_warn(const struct checkpoint_publisher *, const char *restore,
		    const struct coord_options *, const char *journal);

/* Readable when something has been published; -1: nothing will be. */
int publisher_fd(const struct checkpoint_publisher *);

/*
 * Tell of what has been published, or not; begin to publish what waits.  The
 * source is borrowed until publisher_busy() is false.
 */
void publisher_run(struct checkpoint_publisher *, struct coord *,
		   const struct model_source *, uint64_t now_ms);
bool publisher_busy(const struct checkpoint_publisher *);

#endif
