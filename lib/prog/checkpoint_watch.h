/*
 * checkpoint_watch - the checkpoints of a folder, oldest first, and new ones as
 * they come.
 *
 * The folder, or the one where it will be, is looked at when inotify tells of
 * something there, and once a second besides, since inotify sees nothing of
 * what other machines do on a network file system.
 */
#ifndef PS_CHECKPOINT_WATCH_H
#define PS_CHECKPOINT_WATCH_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>

struct checkpoint_watch;

/* The folder need not be there yet. */
struct checkpoint_watch *checkpoint_watch_open(const char *dir);
void checkpoint_watch_close(struct checkpoint_watch *);

/* As if all up to this step, be it the final one, had been given out. */
void checkpoint_watch_after(struct checkpoint_watch *, uint64_t step,
			    bool final);

/* The one that was given out last is the final one: others may remove it. */
void checkpoint_watch_final(struct checkpoint_watch *);

/*
 * The one that was given out last is this.  Was another one published before
 * it, and behind what was given out before, that was never seen?  Then that
 * was removed, and maybe older ones: its name is filled in.
 */
bool checkpoint_watch_missed(const struct checkpoint_watch *,
			     const struct checkpoint_info *,
			     char name[CHECKPOINT_NAME]);

/* Look: what is there, that was not given out.  FAIL_NOINPUT: no folder. */
int checkpoint_watch_look(struct checkpoint_watch *, struct fail *);

/* The highest step that was there then; false: there was none. */
bool checkpoint_watch_newest(const struct checkpoint_watch *, uint64_t *step);

/* The path of the oldest of these, once; NULL: there is none just now. */
const char *checkpoint_watch_next(struct checkpoint_watch *);

/*
 * Has the last one been given out, and is it the final one of its run?  It
 * may become that only later.
 */
bool checkpoint_watch_is_over(const struct checkpoint_watch *);

/*
 * How long it is that one was given out, or that this began.  FAIL_PEER: as
 * long as that, or longer (0: it never is).
 */
int checkpoint_watch_check(const struct checkpoint_watch *, uint64_t idle_ms,
			   struct fail *);

/* When to look again: readable, or so many milliseconds later. */
#define CHECKPOINT_WATCH_MS	1000	/* at most */
int checkpoint_watch_fd(const struct checkpoint_watch *);
int checkpoint_watch_wait(const struct checkpoint_watch *, uint64_t idle_ms);

#endif
