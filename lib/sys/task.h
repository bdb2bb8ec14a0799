/*
 * task - work on files in a thread of its own, a piece at a time, while the
 * program goes on, to whose threads it gives way.
 */
#ifndef PS_TASK_H
#define PS_TASK_H

#include <stdbool.h>

struct task;

struct task *task_new(void);
void task_free(struct task *);	/* waits for what has begun */

/* Readable when a piece has ended; -1 if there is no task (NULL). */
int task_fd(const struct task *);

/* Begin a piece of work, which borrows arg until it has ended. */
void task_begin(struct task *, void (*work)(void *arg), void *arg);

/* Begun, and not seen to end; not so if there is no task. */
bool task_busy(const struct task *);

/* Has it ended?  True once for each piece. */
bool task_ended(struct task *);

#endif
