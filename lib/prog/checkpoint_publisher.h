/*
 * checkpoint_publisher - the coordinator's work on checkpoints: find the one to
 * restore, and publish what the servers have written.
 *
 * Publishing, and the removal of old checkpoints, is done in a thread of its
 * own, so that a slow disk does not hold up the coordinator.
 */
#ifndef PS_CHECKPOINT_PUBLISHER_H
#define PS_CHECKPOINT_PUBLISHER_H

#include "coord/coord.h"
#include "sys/task.h"

struct checkpoint_publisher {
	const struct model_source *source;	/* the run's, borrowed */
	const char *dir;	/* NULL: no checkpoints */
	uint64_t keep;		/* how many of the newest stay; 0: all */
	bool as_is;		/* restore although rows stand for other things
				   now */
	char ahead[CHECKPOINT_NAME];	/* the newest checkpoint, if its step is
					   later than that of the one restored;
					   or "" */

	struct task *task;	/* its thread publishes: */
	const struct coord_job *job;
	struct fail why, why_not_pruned;
	int status;
};

/* Check that checkpoints can be kept in dir, which is made if it is missing.
   Return 0 or -1. */
int publisher_probe(const struct checkpoint_publisher *, struct fail *);

/*
 * Remove what interrupted writers have left in dir: the caller has opened the
 * journal, so that no other run uses it.  Find the checkpoint to restore:
 * "latest" (none, if there is none yet), "none", or a path.  Set o->checkpoint,
 * o->restore and o->restored, whose sampler the caller frees.  Return 0; or -1
 * with the reason, which is FAIL_DATA if the checkpoint is of another model,
 * and FAIL_CONFIG if its rows stand for other things.
 */
int publisher_begin(struct checkpoint_publisher *, const char *restore,
		    const struct model *, struct coord_options *o,
		    struct fail *);
void publisher_release(struct checkpoint_publisher *);	/* waits for the
							   publishing */

/*
 * Warn if the run does not begin with the newest checkpoint, or not with the
 * one that --restore asks for because a run that broke off is resumed.  journal
 * is the path of that run's journal; NULL: no run is resumed.
 */
void publisher_warn(const struct checkpoint_publisher *, const char *restore,
		    const struct coord_options *, const char *journal);

/*
 * Return a descriptor that is readable when something has been published; -1:
 * nothing will be.
 */
int publisher_fd(const struct checkpoint_publisher *);

/*
 * Report to the coordinator what was published or could not be, and begin to
 * publish what waits.
 */
void publisher_run(struct checkpoint_publisher *, struct coord *,
		   uint64_t now_ms);
bool publisher_busy(const struct checkpoint_publisher *);

#endif
