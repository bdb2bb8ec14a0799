/*
 * follow - the checkpoints of a folder, oldest first, and new ones as they
 * come.
 *
 * The folder, or the one where it will be, is looked at when inotify tells of
 * something there, and once a second besides, since inotify sees nothing of
 * what other machines do on a network file system.
 */
#ifndef PS_FOLLOW_H
#define PS_FOLLOW_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>

struct follow;

/* The folder need not be there yet. */
struct follow *follow_open(const char *dir);
void follow_close(struct follow *);

/* As if all up to this step, be it the final one, had been given out. */
void follow_after(struct follow *, uint64_t step, bool final);

/* The one that was given out last is the final one: others may remove it. */
void follow_final(struct follow *);

/*
 * The one that was given out last is this.  Was another one published before
 * it, and behind what was given out before, that was never seen?  Then that
 * was removed, and maybe older ones: its name is filled in.
 */
bool follow_missed(const struct follow *, const struct checkpoint_info *,
		   char name[CHECKPOINT_NAME]);

/* Look: what is there, that was not given out.  FAIL_NOINPUT: no folder. */
int follow_look(struct follow *, struct fail *);

/* The highest step that was there then; false: there was none. */
bool follow_newest(const struct follow *, uint64_t *step);

/* The path of the oldest of these, once; NULL: there is none just now. */
const char *follow_next(struct follow *);

/*
 * Has the last one been given out, and is it the final one of its run?  It
 * may become that only later.
 */
bool follow_is_over(const struct follow *);

/*
 * How long it is that one was given out, or that this began.  FAIL_PEER: as
 * long as that, or longer (0: it never is).
 */
int follow_check(const struct follow *, uint64_t idle_ms, struct fail *);

/* When to look again: readable, or so many milliseconds later. */
#define FOLLOW_MS	1000	/* at most */
int follow_fd(const struct follow *);
int follow_wait(const struct follow *, uint64_t idle_ms);

#endif
