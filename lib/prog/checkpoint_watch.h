/*
 * checkpoint_watch - give out the checkpoints of a folder, oldest first, and
 * new ones as they come.
 *
 * inotify reports changes in the folder, or in its parent while the folder does
 * not exist.  The folder is also read once a second, since on a network file
 * system inotify does not see what other machines do.
 */
#ifndef PS_CHECKPOINT_WATCH_H
#define PS_CHECKPOINT_WATCH_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>

struct checkpoint_watch;

/* Watch a folder, which need not exist yet.  The caller closes the watch. */
struct checkpoint_watch *checkpoint_watch_open(const char *dir);
void checkpoint_watch_close(struct checkpoint_watch *);

/*
 * Take all checkpoints up to this step as done with; final: the last of them
 * was the final one.
 */
void checkpoint_watch_after(struct checkpoint_watch *, uint64_t step,
			    bool final);

/*
 * info is that of the checkpoint given out last.  Return whether the one
 * published before it was never seen, since it was removed (and perhaps older
 * ones, too); set its name.
 */
bool checkpoint_watch_missed(const struct checkpoint_watch *,
			     const struct checkpoint_info *,
			     char name[CHECKPOINT_NAME]);

/*
 * Read the folder for checkpoints that are not done with.  Return 0; or -1,
 * with FAIL_NOINPUT if there is no folder.
 */
int checkpoint_watch_look(struct checkpoint_watch *, struct fail *);

/*
 * Set the highest step that the folder had at the last look, and a number that
 * changes with the files of that checkpoint; false: it had none.
 */
bool checkpoint_watch_newest(const struct checkpoint_watch *, uint64_t *step,
			     uint64_t *stamp);

/*
 * Return whether a checkpoint that could not be used is worth another try, now
 * that its stamp is this one: it is being copied while it is another at each
 * look, and else is as it was when it was tried.  Takes note of the stamp.
 */
struct checkpoint_stamps {
	uint64_t tried, seen;	/* when it was tried; at the last look */
};
bool checkpoint_stamps_settle(struct checkpoint_stamps *, uint64_t stamp);

/*
 * Return the path of the oldest checkpoint to be used now, which the next call
 * passes over; the path is good until then.  NULL: there is none at present.
 * The caller calls checkpoint_watch_done() or checkpoint_watch_refuse().
 */
const char *checkpoint_watch_next(struct checkpoint_watch *);

/*
 * Take the checkpoint given out last, and all before it, as done with; final:
 * it was the final one, and its folder may be removed before it can be read
 * again.
 */
void checkpoint_watch_done(struct checkpoint_watch *, bool final);

/*
 * The checkpoint given out last cannot be used, perhaps since it is being
 * copied: it is given out again once its files have changed, and then stay the
 * same from one look to the next, unless a later one is done with before.
 * Return whether this is its first refusal.
 */
bool checkpoint_watch_refuse(struct checkpoint_watch *);

/*
 * Return whether all checkpoints are done with and the last is the final one
 * of its run.  A checkpoint may be made the final one after it was published.
 */
bool checkpoint_watch_is_over(const struct checkpoint_watch *);

/*
 * Check how long no checkpoint has come.  Return -1 with FAIL_PEER if it is
 * idle_ms or more since one was done with or the watch began; 0 otherwise, and
 * always if idle_ms is 0.
 */
int checkpoint_watch_check(const struct checkpoint_watch *, uint64_t idle_ms,
			   struct fail *);

/*
 * When to look again: when the descriptor is readable, or after the
 * milliseconds that checkpoint_watch_wait() returns.
 */
#define CHECKPOINT_WATCH_MS	1000	/* the longest wait */
int checkpoint_watch_fd(const struct checkpoint_watch *);
int checkpoint_watch_wait(const struct checkpoint_watch *, uint64_t idle_ms);

#endif
